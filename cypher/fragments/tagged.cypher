// `memory` has all of the requested tags.
//
// $tags  list<string>  the tags that it must have; empty for none
AND (size($tags) = 0 OR all(tag IN $tags WHERE tag IN coalesce(memory.tags, [])))
