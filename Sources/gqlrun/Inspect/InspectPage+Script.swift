extension InspectPage {
  /// What the page does. Text of the server is only assigned to text nodes; the Content Security Policy refuses markup
  /// (`require-trusted-types-for`).
  static let script = #"""
    "use strict";
    const MAX_EVENTS = 200, MAX_STATES = 50, SVG = "http://www.w3.org/2000/svg";
    const main = document.getElementById("main");
    let subjects = null;
    // Ends what the shown view has in flight.
    let leave = () => {};

    // MARK: Elements. Text from outside becomes text of nodes and never markup.

    function h(name, attributes, ...children) {
      const element = document.createElement(name);
      for (const [key, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined || value === false) continue;
        if (key === "on") for (const [event, action] of Object.entries(value)) element.addEventListener(event, action);
        else if (key === "size") for (const [side, share] of Object.entries(value)) element.style[side] = share;
        else element.setAttribute(key, value === true ? "" : value);
      }
      for (const child of children.flat(Infinity)) {
        if (child !== null && child !== undefined && child !== false)
          element.append(child instanceof Node ? child : document.createTextNode(String(child)));
      }
      return element;
    }
    const show = (target, ...children) => target.replaceChildren(...children.flat(Infinity).filter(Boolean));
    const say = text => { document.getElementById("status").textContent = text; };
    const problem = error => h("p", { class: "error", role: "alert" }, error.message || String(error));
    const section = (title, ...children) => h("section", { "aria-label": title }, h("h2", {}, title), children);
    const tiles = rows => h("dl", { class: "tiles" }, rows.filter(Boolean).map(([name, value, tone]) =>
      h("div", { class: "tile" }, h("dt", {}, name), h("dd", { class: tone }, value))));

    function table(title, columns, rows) {
      const head = columns.map(([name, kind]) => h("th", { scope: "col", class: kind, role: "columnheader" }, name));
      const body = rows.map(row => h("tr", { role: "row" }, row.map((cell, index) =>
        h("td", { class: columns[index][1], "data-name": columns[index][0], role: "cell" }, cell))));
      return h("div", { class: "wide", role: "region", "aria-label": title, tabindex: "0" },
        h("table", { class: "cards", role: "table" }, h("caption", { class: "hidden" }, title),
          h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)), h("tbody", { role: "rowgroup" }, body)));
    }

    const count = number => Number(number).toLocaleString("en");
    const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
    function size(bytes) {
      const units = ["bytes", "kB", "MB", "GB", "TB"];
      let unit = 0;
      for (; bytes >= 1000 && unit < 4; unit++) bytes /= 1000;
      return `${unit === 0 ? bytes : bytes.toFixed(1)} ${units[unit]}`;
    }
    const time = ms => ms === null ? "–" : ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
    const share = (part, whole) => `${whole > 0 ? Math.min(100, Math.max(0, part / whole * 100)) : 0}%`;

    // MARK: Server

    const LOST = "gqlrun inspect does not answer. If it has ended, start it again, and open the URL that it prints.";
    async function ask(path, options) {
      try { return await fetch(path, options); } catch (error) {
        throw error.name === "AbortError" ? error : new Error(LOST);
      }
    }
    async function get(name, parameters) {
      return read(await ask(`api/${name}?${new URLSearchParams(parameters)}`));
    }
    async function post(name, body, signal) {
      return ask(`api/${name}`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
    }
    async function read(response) {
      const text = await response.text();
      let value;
      try { value = JSON.parse(text); } catch { throw new Error(text.trim() || `HTTP ${response.status}`); }
      if (!response.ok) throw new Error(value.error);
      return value;
    }
    // Calls `onEvent` with each server-sent event of a response. It reads on when `onEvent` has returned.
    async function readEvents(response, onEvent) {
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const parts = (text + value).split("\n\n");
        text = parts.pop();
        for (const part of parts) {
          const name = /^event: (.*)$/m.exec(part), data = /^data: (.*)$/m.exec(part);
          if (name && data) await onEvent(name[1], JSON.parse(data[1]));
        }
      }
    }

    // MARK: Form of an operation

    function operationForm(id, { button, policies, document, variables }, onSubmit) {
      const field = (label, element) => h("label", {}, label, element);
      const text = h("textarea", { id: `${id}-document`, rows: 7, spellcheck: "false", required: true });
      text.value = sessionStorage.getItem(`${id}-document`) ?? document;
      const values = h("textarea", { id: `${id}-variables`, rows: 2, spellcheck: "false" });
      values.value = sessionStorage.getItem(`${id}-variables`) ?? variables ?? "";
      const name = h("input", { id: `${id}-name`, autocomplete: "off" });
      const policy = policies && h("select", { id: `${id}-policy` }, ["", "cache-first", "network-only", "no-cache",
        "cache-only", "cache-and-network", "network-first"]
        .map(name => h("option", { value: name }, name || "(the pipeline's)")));
      return h("form", { on: { submit: event => {
        event.preventDefault();
        sessionStorage.setItem(`${id}-document`, text.value);
        sessionStorage.setItem(`${id}-variables`, values.value);
        onSubmit({ document: text.value, variables: values.value, operation: name.value, policy: policy?.value ?? "" });
      } } }, field("Document", text), field("Variables (JSON)", values),
      h("div", { class: "row" }, field("Operation name, if there are several", name),
        policy && field("Fetch policy", policy), button));
    }

    // MARK: Pipeline

    function showPipeline(at) {
      const pipeline = subjects.pipelines[at];
      const drawing = h("div", {}, chain(pipeline, null)), results = h("div", { "aria-live": "polite" });
      const button = h("button", { type: "submit", disabled: pipeline.problem !== null }, "Send");
      const form = operationForm(`send-${at}`, { button, policies: true, document: "{ __typename }" }, async given => {
        button.disabled = true;
        show(results, h("p", {}, "Waiting for the result…"));
        try {
          const sent = await read(await post("send", { at, ...given }));
          show(drawing, chain(pipeline, sent));
          show(results, sentResults(sent));
        } catch (error) { show(results, problem(error)); }
        button.disabled = false;
      });
      show(main, section(`Pipeline ${pipeline.name}`,
        h("p", { class: "sub" }, `Sends to ${pipeline.endpoint ?? "no endpoint"}. Store: ${pipeline.store}.`),
        pipeline.problem !== null && h("p", { class: "error" }, `Requests cannot be sent: ${pipeline.problem}`),
          drawing),
      section("Send a request",
        !subjects.allowWrite && h("p", { class: "sub" },
          "Mutations are refused, and results are not stored in files, without --allow-write."),
        form, results));
    }

    function chain(pipeline, sent) {
      const spans = sent?.spans ?? [], total = sent?.milliseconds ?? 0;
      const entries = pipeline.entries.map(entry => {
        const own = spans.filter(span => span.entry === entry.id);
        return h("li", { class: sent ? own.length ? "reached" : "quiet" : null },
          h("div", { class: "box" }, h("b", {}, entry.id),
            h("span", {}, [entry.plugin === entry.id ? "" : entry.plugin, entry.stage,
              entry.kind === "wrap" ? "surrounds what follows" : "",
                entry.when && `when ${entry.when}`].filter(Boolean).join(", "))),
          h("div", { class: "spans" }, own.map(span => spanRow(span, total)),
            sent && !own.length && h("p", {}, "not reached")));
      });
      return h("div", {}, sent && h("p", { class: "sub" },
        `${sent.operation}: ${time(total)}. Solid: until an entry passed the request on; pale: until its last result.`),
      h("ol", { class: "chain", "aria-label": "Entries of the chain, in the order of a request" }, entries));
    }

    function spanRow(span, total) {
      const down = span.passed ?? span.end, color = `var(--c${[2, 1, 4, 9, 6][(span.attempt - 1) % 5]})`;
      const piece = (from, to, kind) => h("i", { class: kind,
        size: { left: share(from, total), width: share(to - from, total), background: color } });
      return h("div", { class: "span" },
        h("div", { class: "track", "aria-hidden": "true" }, piece(span.start, down, "own"),
          span.end > down && piece(down, span.end, "below")),
        h("p", {}, `attempt ${span.attempt}: ${time(span.start)} to ${time(span.end)}`,
          span.passed !== null && `, passed on after ${time(span.passed - span.start)}`,
            span.notes.map(note => ` · ${note}`)));
    }

    function sentResults(sent) {
      return [sent.error !== null && problem(new Error(sent.error)),
        sent.results.map(result => h("div", {}, h("p", {}, [`from the ${result.source}`, time(result.milliseconds),
          size(result.bytes),
          result.attempt > 1 && `attempt ${result.attempt}`, result.errors > 0 && plural(result.errors,
            "GraphQL error"),
          result.stored !== null && `${plural(result.stored, "record")} stored`].filter(Boolean).join(", ")),
        h("pre", { tabindex: "0" }, result.text), result.shortened && h("p", { class: "sub" },
          "Only the beginning is shown."))),
        h("details", {}, h("summary", {}, "What the pipeline does with this operation"),
          h("pre", {}, sent.explanation))];
    }

    // MARK: Cache

    const recordLink = (at, key) => h("a", { href: `#cache/${at}/record/${encodeURIComponent(key)}` }, key);

    async function showCache(at, view, key) {
      if (view === "record") return showRecord(at, key);
      const overview = h("div", {}, h("p", {}, "Reading the cache…")), list = h("div", { "aria-live": "polite" });
      const find = h("input", { id: "find", type: "search", autocomplete: "off" });
      let type = null;
      const search = async after => {
        try {
          const parameters = { at, find: find.value };
          if (type !== null) parameters.type = type;
          if (after) parameters.after = after;
          const page = await get("records", parameters);
          const rows = page.records.map(record => [recordLink(at, record.key), record.type, size(record.bytes)]);
          show(list, h("p", { class: "sub" }, plural(page.records.length, "record"),
            type !== null && ` of ${type}`, after && ` after ${after}`, page.next !== null && "; there may be more"),
          rows.length > 0 && table("Records", [["Key", "e"], ["Type", ""], ["Size", "n"]], rows),
          page.next !== null && h("button", { type: "button", on: { click: () => search(page.next) } }, "More"));
        } catch (error) { show(list, problem(error)); }
      };
      show(main, section(`Cache ${subjects.caches[at]}`, overview),
        section("Records", h("form", { role: "search", on: { submit: event => { event.preventDefault(); search(); } } },
          h("div", { class: "row" }, h("label", {}, "Key contains", find), h("button", { type: "submit" }, "Search"),
            h("button", { type: "button", on: { click: () => { type = null; find.value = ""; search(); } } },
              "All"))), list),
        missSection(at), subjects.allowWrite && removeSection(at));
      try {
        const cache = await get("cache", { at });
        const most = Math.max(...cache.types.map(entry => entry.bytes), 1);
        show(overview, tiles([["Records", count(cache.records)], ["Size of records", size(cache.bytes)],
          cache.file !== null && ["File", size(cache.file)], cache.errors > 0 && ["Stored errors",
            count(cache.errors), "warn"],
          cache.damaged > 0 && ["Damaged", count(cache.damaged), "bad"]]),
        table("Types", [["Type", ""], ["Records", "n"], ["Size", "n"], ["Share", "e"]],
          cache.types.slice(0, 200).map(entry => [
          h("button", { type: "button", class: "text", on: { click: () => { type = entry.type; search(); } } },
            entry.type),
          count(entry.records), size(entry.bytes), h("div", { class: "bar", "aria-hidden": "true",
            size: { width: share(entry.bytes, most) } })])));
      } catch (error) { show(overview, problem(error)); }
      search();
    }

    async function showRecord(at, key) {
      const incoming = h("div", { "aria-live": "polite" });
      const trail = h("p", {}, h("a", { href: `#cache/${at}` }, `Cache ${subjects.caches[at]}`));
      show(main, h("p", {}, "Reading the record…"));
      let record, failure, isShown = true;
      leave = () => { isShown = false; };
      try { record = await get("record", { at, key }); } catch (error) { failure = error; }
      if (!isShown) return;
      if (failure) return show(main, trail, problem(failure));
      if (record.missing) return show(main, trail, section(key,
        h("p", {}, "The cache has no record with this key: a reference to it is dangling, and a cache miss.")));
      const value = field => [h("code", {}, field.text), field.shortened && ` … ${size(field.bytes)}`];
      const references = field => [field.references.map((key, index) => [index > 0 && ", ", recordLink(at, key)]),
        field.referenceCount > field.references.length
          && ` and ${count(field.referenceCount - field.references.length)} more`];
      const button = h("button", { type: "button", id: "incoming", on: { click: async () => {
        button.disabled = true;
        try {
          const found = await get("referrers", { at, key });
          show(incoming, found.records.length === 0 ? h("p", {}, "No record refers to it.")
            : table("Records that refer to it", [["Record", "e"], ["Field", "e"]],
              found.records.map(owner => [recordLink(at, owner.key), h("code", {}, owner.field)])),
          found.hasMore && h("p", { class: "sub" }, "There are more."));
        } catch (error) { show(incoming, problem(error)); }
        button.disabled = false;
      } } }, "Find records that refer to this one");
      show(main, trail, section(key,
        h("p", { class: "sub" }, `${plural(record.fieldCount, "field")}, ${size(record.bytes)}`,
          record.received > 0 && `, received ${new Date(record.received * 1000).toISOString().replace(".000", "")}`),
        table("Fields", [["Field", "v"], ["Stored value", "v"], ["Refers to", "v"]],
          record.fields.map(field => [h("code", {}, field.name), value(field), references(field)])),
        record.fieldCount > record.fields.length && h("p", { class: "sub" },
          `The first ${count(record.fields.length)} fields.`)),
      section("Incoming references", button, incoming));
    }

    function missSection(at) {
      const result = h("div", { "aria-live": "polite" });
      const button = h("button", { type: "submit" }, "Explain");
      return section("Why does a query miss?", operationForm(`miss-${at}`, { button, document: "" }, async given => {
        try {
          const found = await read(await post("explain", { at, ...given }));
          const rows = [];
          const add = fields => fields.forEach(field => {
            const kind = field.errors ? "; a stored error" : field.value === "missing-record"
              ? `; ${field.reference} does not exist` : "";
            if (rows.length < 500) rows.push([h("code", {}, field.path),
              h("span", { class: field.status }, field.status + kind),
              recordLink(at, field.record), h("code", {}, field.field),
                field.age === null ? "" : `${count(field.age)} s`]);
            addIn(field);
          });
          const addIn = value => { add(value.fields ?? []); (value.elements ?? []).forEach(addIn); };
          add(found.fields);
          const totals = Object.entries(found.counts).filter(entry => entry[1] > 0)
            .map(([name, number]) => `${number} ${name}`);
          show(result, h("p", {}, h("span", { class: `badge ${found.hit ? "ok" : "bad"}` },
            found.hit ? "hit" : "miss"), ` ${totals.join(", ")}`),
            found.proposals.map(proposal => h("p", {}, "A cache redirect could answer it: ",
              h("code", {}, proposal.rule))),
            table("Fields of the operation", [["Path", "e"], ["State", ""], ["Record", "e"], ["Stored field", "e"],
              ["Age", "n"]], rows),
            rows.length === 500 && h("p", { class: "sub" }, "The first 500 fields."));
        } catch (error) { show(result, problem(error)); }
      }), result);
    }

    function removeSection(at) {
      const result = h("div", { "aria-live": "polite" });
      const pattern = h("input", { id: "pattern", autocomplete: "off", required: true });
      const remove = async (name, body) => {
        try {
          const removed = await read(await post(name, { at, ...body }));
          show(result, h("p", {}, `Removed ${plural(removed.records, "record")}, ${size(removed.bytes)}.`));
        } catch (error) { show(result, problem(error)); }
      };
      const collect = h("button", { type: "button", on: { click: () => remove("gc", {}) } },
        "Remove records that nothing reaches");
      const submit = event => { event.preventDefault(); remove("evict", { pattern: pattern.value }); };
      return section("Remove records", h("form", { on: { submit } },
        h("div", { class: "row" }, h("label", {}, "Key or pattern, such as Post:*", pattern),
          h("button", { type: "submit" }, "Evict"))), collect, result);
    }

    // MARK: Run of a batch

    function showRun(at) {
      const content = h("div", {}, h("p", {}, "Reading the journal…")), lost = h("div", {});
      show(main, section(`Run ${subjects.runs[at]}`, lost, content));
      const source = new EventSource(`api/run?at=${at}`);
      leave = () => source.close();
      source.addEventListener("run", event => {
        const run = JSON.parse(event.data);
        show(lost);
        show(content, run.error ? problem(new Error(run.error)) : runView(run));
        if (run.ended) say(`The run has ended: ${run.done} of ${run.total} tasks.`);
      });
      // The browser connects again by itself, and then gets the state.
      source.addEventListener("error", () => { if (!lost.firstChild) show(lost, problem(new Error(LOST))); });
    }

    function runView(run) {
      const tasks = run.tasks, failed = (tasks.failed ?? 0) + (tasks.unknown ?? 0);
      const colors = { done: "var(--c3)", failed: "var(--bad)", unknown: "var(--c9)", skipped: "var(--c1)" };
      const part = name => h("i", { size: { width: share(tasks[name] ?? 0, run.total), background: colors[name] } });
      const rate = run.seconds > 0 ? run.done / run.seconds : 0;
      const span = Math.max(...run.waterfall.map(task => task.start + task.seconds), 0.001);
      const first = Math.min(...run.waterfall.map(task => task.start), span);
      return [h("p", {}, h("code", {}, run.name), " ", h("span",
        { class: `badge ${failed ? "bad" : run.ended ? "ok" : "busy"}`, id: "state" }, run.state)),
        h("div", { class: "progress", role: "progressbar", "aria-label": "Tasks", "aria-valuemin": 0,
          "aria-valuemax": run.total, "aria-valuenow": run.done },
          Object.keys(colors).map(part)),
        tiles([["Tasks ended", `${count(run.done)} of ${count(run.total)}`], ["Done", count(tasks.done ?? 0), "ok"],
          ["Failed", count(tasks.failed ?? 0), tasks.failed && "bad"],
            tasks.unknown && [run.ended ? "Unknown" : "Unknown or in flight", count(tasks.unknown), "warn"],
          tasks.skipped && ["Skipped", count(tasks.skipped), "warn"], ["Time", time(run.seconds * 1000)],
            ["Tasks per second", rate.toFixed(1)],
          ["p50", time(run.latency_ms.p50)], ["p99", time(run.latency_ms.p99)],
            run.gap_count && ["Gaps", count(run.gap_count), "warn"]]),
        run.reasons.length > 0 && [h("h2", {}, "Failures"), table("Failures",
          [["Tasks", "n"], ["Operation", ""], ["State", ""], ["HTTP", "n"], ["First", ""], ["Why", "e"]],
          run.reasons.map(reason => [count(reason.count), reason.op, reason.state, reason.http ?? "", reason.first,
            reason.message]))],
        run.throughput.length > 1 && [h("h2", {}, "Tasks over time"), columns(run.throughput, colors)],
        run.waterfall.length > 0 && [h("h2", {}, "The last tasks"),
          h("ol", { class: "falls" }, [...run.waterfall].sort((a, b) => a.start - b.start).map(task => h("li", {},
          h("span", { title: `${task.op} ${task.key}` }, `${task.op} ${task.key}`),
          h("div", { class: "track", "aria-hidden": "true" }, h("i",
            { size: { left: share(task.start - first, span - first),
            width: share(task.seconds, span - first), background: colors[task.state] } })),
          h("span", { title: task.state },
            `${time(task.seconds * 1000)}${task.attempts > 1 ? ` ×${task.attempts}` : ""}`))))]];
    }

    function columns(parts, colors) {
      const most = Math.max(...parts.map(([done, failed]) => done + failed), 1);
      const drawing = document.createElementNS(SVG, "svg");
      const set = (element, values) => { for (const [key, value] of Object.entries(values)) element.setAttribute(key,
        value); };
      set(drawing, { viewBox: `0 0 ${parts.length} 100`, preserveAspectRatio: "none", class: "plot2", role: "img",
        "aria-label": `Tasks that ended, in ${parts.length} equal parts of the run; at most ${most} in one` });
      parts.forEach(([done, failed], index) => [[done, 0, colors.done],
        [failed, done, colors.failed]].forEach(([value, below, color]) => {
        if (value === 0) return;
        const box = document.createElementNS(SVG, "rect");
        set(box, { x: index + 0.05, width: 0.9, y: 100 - (below + value) / most * 100, height: value / most * 100 });
        box.style.fill = color;
        box.style.strokeWidth = 0;
        drawing.append(box);
      }));
      return drawing;
    }

    // MARK: Subscriptions

    function showLive(at) {
      const pipeline = subjects.pipelines[at];
      const list = h("ol", { class: "events", id: "events" }),
        states = h("p", { class: "sub", id: "states", role: "status" });
      const total = h("p", { id: "total" }), failure = h("div", {});
      const start = h("button", { type: "submit", disabled: pipeline.problem !== null }, "Start");
      const stop = h("button", { type: "button", disabled: true, on: { click: () => controller?.abort() } }, "Stop");
      let controller = null;
      leave = () => controller?.abort();
      const form = operationForm(`live-${at}`, { button: [start, stop], document: "" }, async given => {
        const own = controller = new AbortController();
        let number = 0, gaps = 0, seen = [], hasEnded = false;
        const add = element => { list.prepend(element);
          while (list.children.length > MAX_EVENTS) list.lastChild.remove(); };
        const note = () => { total.textContent = `${plural(number, "event")}, ${plural(gaps, "gap")}`
          + (number + gaps > MAX_EVENTS ? `; the last ${MAX_EVENTS} are shown` : ""); };
        start.disabled = true; stop.disabled = false;
        show(list); show(failure); states.textContent = ""; note();
        try {
          const response = await post("subscribe", { at, ...given }, own.signal);
          if (!response.ok) await read(response);
          await readEvents(response, (name, event) => {
            if (name === "state") {
              if (event.state !== "idle" || seen.length > 0) seen.push(event.state + (event.seconds
                ? ` ${Math.round(event.seconds)} s` : ""));
              seen = seen.slice(-MAX_STATES);
              states.textContent = `Connection: ${seen.join(" → ")}`;
            } else if (name === "next") {
              number += 1;
              add(h("li", {}, h("p", {}, `Event ${number}, after ${time(event.milliseconds)}, ${size(event.bytes)}`,
                event.errors > 0 && `, ${plural(event.errors, "GraphQL error")}`),
                  h("pre", { tabindex: "0" }, event.text)));
            } else if (name === "gap") {
              gaps += 1;
              add(h("li", { class: "gap" }, h("p", {}, `Gap, after ${time(event.milliseconds)}: ${event.note}`)));
            } else {
              hasEnded = true;
              show(failure, name === "failed" ? problem(new Error(event.error))
                : h("p", {}, "The server has ended the subscription."));
            }
            note();
          });
          if (!hasEnded) throw new Error(LOST);
        } catch (error) {
          // The message of a browser for a stream that breaks off names no remedy.
          show(failure, problem(error instanceof TypeError ? new Error(LOST) : error));
        }
        if (own.signal.aborted) show(failure, h("p", {}, "Stopped."));
        start.disabled = pipeline.problem !== null; stop.disabled = true;
      });
      show(main, section(`Subscriptions through ${pipeline.name}`, form, states, failure),
        section("Events", total, list));
    }

    // MARK: Navigation

    function route() {
      leave();
      leave = () => {};
      const [view, number, ...rest] = location.hash.slice(1).split("/");
      const at = Number(number ?? 0) || 0;
      const views = { pipeline: subjects.pipelines, live: subjects.pipelines, cache: subjects.caches,
        run: subjects.runs };
      if (!views[view]?.[at]) {
        const first = ["pipeline", "cache", "run"].find(name => views[name].length > 0);
        return location.replace(`#${first}/0`);
      }
      for (const link of document.querySelectorAll("nav a")) {
        if (link.getAttribute("href") === `#${view}/${at}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      if (view === "pipeline") showPipeline(at);
      else if (view === "live") showLive(at);
      else if (view === "run") showRun(at);
      else showCache(at, rest[0], decodeURIComponent(rest.slice(1).join("/")));
      window.scrollTo(0, 0);
    }

    async function begin() {
      try { subjects = await get("subjects", {}); } catch (error) { return show(main, problem(error)); }
      document.getElementById("mode").textContent =
        `gqlrun ${subjects.version}, ${subjects.allowWrite ? "with permission to write" : "read-only"}`;
      const name = path => path.split("/").pop();
      const links = [...subjects.pipelines.flatMap((pipeline, at) => [["pipeline", at,
        `Pipeline ${name(pipeline.name)}`],
        ["live", at, `Subscriptions ${subjects.pipelines.length > 1 ? name(pipeline.name) : ""}`]]),
        ...subjects.caches.map((path, at) => ["cache", at, `Cache ${name(path)}`]),
        ...subjects.runs.map((path, at) => ["run", at, `Run ${name(path)}`])];
      show(document.getElementById("subjects"), links.map(([view, at, text]) =>
        h("li", {}, h("a", { href: `#${view}/${at}` }, text))));
      addEventListener("hashchange", () => { route(); main.focus(); });
      route();
    }
    begin();

    """#
}
