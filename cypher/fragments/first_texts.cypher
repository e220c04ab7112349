// The first of ordered memories, up to the one with which their texts have so many characters.
//
// $page_characters  int  the number of characters of texts together with which a page ends
WITH collect(memory) AS ordered
WITH ordered, reduce(page = {characters: 0, number: 0}, one IN ordered |
  // No text beyond the page is read.
  CASE WHEN page.characters >= $page_characters THEN page ELSE {
    characters: page.characters + size(coalesce(one.text, '')),
    number: page.number + 1
  } END
).number AS number
UNWIND ordered[..number] AS memory
