// `memory` has all of the requested tags.
//
// $tags  list<string>  the tags that it must have; [''] for none
AND all(tag IN $tags WHERE tag = '' OR tag IN coalesce(memory.tags, []))
