import GQLRunSupport

extension HTML {
  /// The style sheet. Colors are distinguishable in both color schemes and with most color vision
  /// deficiencies (Okabe and Ito).
  static let style = """
    :root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #ffffff;
      --card: #f6f8fa; --line: #d1d9e0; --accent: #9a3412;
      --c0: #7f8c9b; --c1: #e69f00; --c2: #0072b2; --c3: #009e73; --c4: #d55e00; --c5: #a0522d;
      --c6: #56b4e9; --c7: #cc79a7; --c8: #6b8e23; --c9: #8a6fc1; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --card: #151b23; --line: #3d444d;
        --accent: #f0883e; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 82rem; padding: 2rem 1.5rem; background: var(--paper);
      color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
    h1 { margin: 0; font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
    h3 { margin: 0; font-size: 1rem; } header p, footer { color: var(--soft); font-size: .9rem; }
    footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
    .wide { overflow-x: auto; }
    svg { display: block; width: 100%; min-width: 46rem; height: auto; overflow: visible; }
    svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
    svg text.soft { fill: var(--soft); font-size: 12px; }
    svg text.ondark { fill: #fff; } svg text.onlight { fill: #16191d; }
    svg .axis { stroke: var(--line); stroke-width: 1; }
    .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(36rem, 100%), 1fr));
      gap: 1rem; margin-top: 1.25rem; }
    .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
      padding: 1rem 1.25rem; overflow-x: auto; }
    .card p { margin: .25rem 0; font-size: .9rem; color: var(--soft); }
    .card p.figure { font-size: 1.8rem; color: var(--ink); font-variant-numeric: tabular-nums; }
    p.bottleneck, .card p.bottleneck { color: var(--accent); }
    table { border-collapse: collapse; width: 100%; font-size: .85rem; margin-top: .75rem;
      font-variant-numeric: tabular-nums; }
    th, td { text-align: right; padding: .25rem .4rem; border-bottom: 1px solid var(--line);
      white-space: nowrap; }
    th:first-child, td:first-child { text-align: left; } th { color: var(--soft);
      font-weight: 500; white-space: normal; vertical-align: bottom; }
    td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 6.5rem; }
    .card table { font-size: .8rem; }
    .card td:first-child { min-width: 0; white-space: nowrap; }
    pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
      border-radius: 8px; padding: 1rem; font-size: .8rem; }
    .remarks p { color: var(--accent); }
    """
}
