// Takes the memories in `gone` off their client's usage, if that is counted; those of older versions have no
// `text_bytes`.
//
// $client_id  string  the client
CALL (gone) {
  MATCH (usage:Usage {client_id: $client_id})
  SET
    usage.memories = usage.memories - size(gone),
    usage.bytes = usage.bytes - reduce(
      bytes = 0, memory IN gone | bytes + coalesce(memory.text_bytes, size(memory.text))
    )
}
