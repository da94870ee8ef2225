import GQLRunReport

/// The page of `gqlrun inspect`: one document, whose script asks the server for what it shows.
///
/// Plain HTML, CSS and JavaScript. The style sheet begins with that of reports.
enum InspectPage {
  static let html = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>gqlrun inspect</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="page.css">
    <script src="page.js" defer></script>
    </head>
    <body>
    <header><h1>gqlrun inspect</h1><p class="sub" id="mode"></p></header>
    <nav aria-label="Subjects"><ul id="subjects"></ul></nav>
    <main id="main" tabindex="-1"><p>This page needs JavaScript.</p></main>
    <p id="status" role="status" class="hidden"></p>
    </body>
    </html>

    """#

  static let style =
    HTML.style + "\n" + #"""
      nav ul { display: flex; flex-wrap: wrap; gap: .4rem; margin: 1rem 0 0; padding: 0; list-style: none; }
      nav a { display: block; padding: .3rem .8rem; border: 1px solid var(--line); border-radius: 1rem;
        background: var(--card); color: var(--ink); font-size: .9rem; text-decoration: none; }
      nav a[aria-current] { background: var(--c2); border-color: var(--c2); color: var(--onfill); }
      main:focus { outline: none; } a { color: var(--c2); }
      form { display: grid; gap: .6rem; margin: 0 0 1rem; } label { font-size: .85rem; color: var(--soft); }
      textarea, input, select { display: block; width: 100%; margin-top: .2rem; padding: .45rem .6rem;
        border: 1px solid var(--soft); border-radius: 6px; background: var(--page); color: var(--ink);
        font: 13px/1.5 ui-monospace, monospace; }
      button { padding: .35rem .9rem; border: 1px solid var(--soft); border-radius: 6px; background: var(--card);
        color: var(--ink); font: inherit; font-size: .9rem; cursor: pointer; }
      button[type=submit] { background: var(--c2); border-color: var(--c2); color: var(--onfill); }
      button.text { padding: 0; border: 0; background: none; color: var(--c2); text-align: left;
        text-decoration: underline; overflow-wrap: anywhere; }
      button:disabled { opacity: .55; cursor: default; }
      .row { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; } .row > label { flex: 1 1 12rem; }
      .error { color: var(--bad); white-space: pre-wrap; }
      pre { max-height: 28rem; margin: .5rem 0; padding: .75rem; overflow: auto; border: 1px solid var(--line);
        border-radius: 6px; background: var(--page); font: 12.5px/1.5 ui-monospace, monospace; white-space: pre-wrap; }
      summary { cursor: pointer; font-size: .9rem; color: var(--soft); }
      .chain { margin: 0; padding: 0; list-style: none; }
      .chain > li { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: .2rem 1.2rem; padding-bottom: .9rem;
        position: relative; }
      .chain > li:not(:last-child)::before { content: ""; position: absolute; left: 1.2rem; top: 0; bottom: 0;
        border-left: 2px solid var(--soft); }
      .box { position: relative; padding: .4rem .75rem; border: 2px solid var(--c0); border-radius: 8px;
        background: var(--card); font-size: .85rem; align-self: start; } .box b { font-weight: 600; }
      .box span { display: block; color: var(--soft); font-size: .78rem; }
      .reached .box { border-color: var(--c3); } .quiet .box { border-style: dashed; }
      .spans { position: relative; font-size: .8rem; color: var(--soft); background: var(--card); align-self: center; }
      .spans p { font-size: .8rem; margin: 0 0 .35rem; }
      .track { position: relative; height: 14px; margin: .15rem 0; border-radius: 3px; background: var(--page); }
      .track i { position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 3px; }
      .track i.below { opacity: .35; }
      .bar { height: 12px; min-width: 2px; border-radius: 3px; background: var(--c2); }
      .progress { height: 14px; margin: 1rem 0; overflow: hidden; border-radius: 7px; background: var(--page);
        border: 1px solid var(--line); display: flex; } .progress i { height: 100%; }
      .plot2 { width: 100%; height: 90px; } .falls { margin: 0; padding: 0; list-style: none; font-size: .8rem; }
      .falls li { display: grid; grid-template-columns: 14rem minmax(0, 1fr) 7rem; gap: .8rem; align-items: center; }
      .falls li span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .hit { color: var(--ok); } .missing, .stale { color: var(--bad); }
      .events { margin: 0; padding: 0; list-style: none; }
      .events li { border-top: 1px solid var(--line); padding: .5rem 0; }
      .events pre { max-height: 12rem; margin: .2rem 0 0; } .events .gap { color: var(--warn); }
      section h2:not(:first-child) { margin-top: 1.4rem; } .badge.busy { background: var(--c2); }
      td.v { min-width: 9rem; overflow-wrap: anywhere; } td.v code { white-space: pre-wrap; }
      @media (max-width: 699px) {
        .chain > li { grid-template-columns: minmax(0, 1fr); padding-left: 0; }
        .falls li { grid-template-columns: minmax(0, 1fr) 7rem; gap: 0 .8rem; } .falls .track { grid-column: 1 / 3; grid-row: 2; } }
      """#
}
