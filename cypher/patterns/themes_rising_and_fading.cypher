CYPHER 25
// The themes that come more often than before, and those that come less often: how many of their sessions
// began in the last so many days, and how many in as many days before that. By meaning, not by words.
//
// title     Themes rising and fading
// detector  themes_rising_and_fading
// query     recurring_themes
// example   {"days": 14, "until": "2026-03-08T00:00:00Z"}
//
// $client_id        string       whose sessions
// $conversation_id  string       of this conversation only, '' for all [0..128 = ""]
// $until            datetime     the end of the last window [= "now"]
// $days             int          how long a window is [1..365 = 30]
// $newest           int          how many sessions are looked at, the newest [2..500 = 300]
// $least            int          how many sessions make a theme [2..100 = 3]
// $limit            int          how many themes [1..1000 = 50]
//
// > theme        string        words that its sessions share, else how its central session begins
// > direction    string        rising, fading or steady
// > recent       int           how many of its sessions began in the last window
// > before       int           how many in the one before
// > sessions     int           how many there are in all
// > first_at     datetime      when the first began
// > last_at      datetime      when the last began
// > session_ids  list<string>  all of them, by time
// > central      string        how the session begins that lies nearest to the others
// > memory_ids   list<string>  the messages that tell most, session by session
