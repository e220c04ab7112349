CYPHER 25
// The themes that occur more often than before, and those that occur less often, by meaning and not by words:
// compares the number of their sessions in the last window of days with the window before it.
//
// title     Themes rising and fading
// detector  themes_rising_and_fading
// query     recurring_themes
// example   {"days": 14, "until": "2026-03-08T00:00:00Z"}
//
// $client_id        string       the client
// $conversation_id  string       of this conversation only, '' for all [0..128 = ""]
// $until            datetime     the end of the last window [= "now"]
// $days             int          the length of a window in days [1..365 = 30]
// $newest           int          the number of newest sessions to search [2..500 = 300]
// $least            int          the least number of sessions of a theme [2..100 = 3]
// $limit            int          the maximum number of themes [1..1000 = 50]
//
// > theme        string        words that its sessions share, else the beginning of its central session
// > direction    string        rising, fading or steady
// > recent       int           the number of its sessions in the last window
// > before       int           the number in the window before
// > sessions     int           the total number of sessions
// > first_at     datetime      when the first began
// > last_at      datetime      when the last began
// > session_ids  list<string>  all of them, by time
// > central      string        the beginning of the session nearest to the others
// > memory_ids   list<string>  the most telling messages, session by session
