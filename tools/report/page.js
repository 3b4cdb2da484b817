// page.js: draws the report from the JSON in #data. Plain script, no modules: it must run from a file.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const style = getComputedStyle(document.documentElement);
  const css = (name) => style.getPropertyValue(name).trim();

  // Colours that people with colour-blindness can tell apart (Okabe and Ito), one per strategy.
  const palette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1",
                   "#b8a800", "#7f7f7f", "#a6761d"];
  const strategies = [...new Set([...data.patterns.flatMap((p) => Object.keys(p.strategies)),
                                  ...data.timeline.map((c) => c.strategy)])].sort();
  const colour = (strategy) => palette[strategies.indexOf(strategy) % palette.length];
  const phaseNames = ["agree", "plan", "exchange", "storage", "wait", "other"];
  const phaseColours = ["#8c6bb1", "#56b4e9", "#e69f00", "#009e73", "#9aa3ad", "#d5d9de"];

  const bytesText = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (Math.abs(bytes) >= 1024 && unit < units.length - 1) { bytes /= 1024; ++unit; }
    return `${unit ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
  };
  const secondsText = (s) => s >= 1 ? `${s.toFixed(2)} s` : s >= 1e-3 ? `${(s * 1e3).toFixed(1)} ms`
                                                                      : `${(s * 1e6).toFixed(1)} µs`;
  const percent = (part, whole) => whole > 0 ? `${Math.round(100 * part / whole)} %` : "-";
  const shortName = (path) => path.split("/").pop() || path;
  const clipped = (text) => text.length > 22 ? text.slice(0, 21) + "…" : text;
  const patternName = (p) => `${clipped(shortName(p.file))} ${p.operation} ${p.signature.slice(0, 6)}`;

  // Names come from the traced program: they are always set as text, never as HTML.
  const element = (tag, text, className) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  };

  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.color = css("--quiet");
  Chart.defaults.borderColor = css("--line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

  const drawTiles = () => {
    const tile = (value, label) => {
      const t = element("div", undefined, "tile");
      t.append(element("b", value), element("span", label));
      byId("tiles").append(t);
    };
    byId("trace-name").textContent = data.title;
    document.title = `choir report: ${data.title}`;
    tile(String(data.calls), `collective calls on ${data.file_count} opened files`);
    tile(bytesText(data.bytes), "asked for by the program");
    tile(secondsText(data.seconds), `inside calls, of ${secondsText(data.span)} observed`);
    tile(`${bytesText(data.seconds > 0 ? data.bytes / data.seconds : 0)}/s`, "while in calls");
    tile(percent(data.bytes_between, data.bytes_between + data.bytes_inside),
         "of exchanged bytes cross nodes");
    tile(percent(data.cached_plans, data.calls), "of calls reused a plan");
    tile(percent(data.examining, data.seconds), "of the time examined strategies");
  };

  // `choir place` in an advice is a command: the words between back quotes become code.
  const withCommands = (text) => {
    const whole = element("span");
    text.split("`").forEach((words, i) => whole.append(i % 2 ? element("code", words) : words));
    return whole;
  };

  const drawAdvice = () => {
    for (const a of data.advice) {
      const item = element("li", undefined, a.weight);
      item.dataset.rule = a.id;
      item.append(element("b", a.finding), withCommands(a.action));
      byId("advice").append(item);
    }
  };

  const drawTimeline = () => {
    const datasets = strategies.map((name) => {
      const calls = data.timeline.filter((c) => c.strategy === name && c.s > 0 && c.bytes > 0);
      return {
        label: name,
        data: calls.map((c) => ({ x: c.t, y: c.bytes / c.s / 1048576, call: c })),
        pointStyle: calls.map((c) => c.phase === "looking" ? "triangle" : "circle"),
        pointRadius: calls.map((c) => c.phase === "looking" ? 5 : 3),
        backgroundColor: colour(name) + "b0",
        borderColor: colour(name),
      };
    });
    const describe = ({ raw }) => `call ${raw.call.call} ${raw.call.operation} on ` +
      `${shortName(raw.call.file)}: ${bytesText(raw.call.bytes)} in ${secondsText(raw.call.s)}, ` +
      `${raw.call.strategy} (${raw.call.phase})`;
    new Chart(byId("timeline"), {
      type: "scatter",
      data: { datasets },
      options: {
        scales: {
          x: { title: { display: true, text: "seconds since the first call" } },
          y: { type: "logarithmic", title: { display: true, text: "MiB/s" } },
        },
        plugins: {
          tooltip: { callbacks: { label: describe } },
          legend: { labels: { usePointStyle: true, pointStyle: "circle" } },
        },
      },
    });
  };

  const growBox = (id, rows) => { byId(id).style.height = `${Math.max(220, 90 + rows)}px`; };

  const drawThroughput = () => {
    const bars = data.patterns.reduce((n, p) => n + Object.keys(p.strategies).length, 0);
    growBox("throughput-box", data.patterns.length * 18 + bars * 14);
    new Chart(byId("throughput"), {
      type: "bar",
      data: {
        labels: data.patterns.map(patternName),
        datasets: strategies.map((name) => ({
          label: name,
          data: data.patterns.map((p) => p.strategies[name]
            ? p.strategies[name].bytes_per_s / 1048576 : null),
          backgroundColor: colour(name),
          skipNull: true,
        })),
      },
      options: {
        indexAxis: "y",
        scales: { x: { title: { display: true, text: "MiB/s" } } },
        plugins: { tooltip: { callbacks: { afterLabel: ({ dataIndex, dataset }) =>
          `${data.patterns[dataIndex].strategies[dataset.label].calls} calls` } } },
      },
    });
  };

  const drawPhases = () => {
    growBox("phases-box", data.patterns.length * 46);
    const part = (phases, name) => name !== "other" ? phases[name] : Math.max(0, phases.total -
      phases.agree - phases.plan - phases.exchange - phases.storage - phases.wait);
    new Chart(byId("phases"), {
      type: "bar",
      data: {
        labels: data.patterns.map(patternName),
        datasets: phaseNames.map((name, i) => ({
          label: name,
          data: data.patterns.map((p) => part(p.phases, name)),
          backgroundColor: phaseColours[i],
        })),
      },
      options: {
        indexAxis: "y",
        scales: { x: { stacked: true, title: { display: true, text: "seconds" } },
                  y: { stacked: true } },
      },
    });
  };

  const drawPatterns = () => {
    const table = byId("patterns");
    const head = element("tr");
    const columns = ["pattern", "calls", "bytes", "pieces", "MiB/s", "served by", "because"];
    columns.forEach((c, i) => head.append(element("th", c, i > 0 && i < 5 ? "number" : "")));
    table.append(head);
    for (const p of data.patterns) {
      const row = element("tr");
      const speed = p.seconds > 0 ? (p.bytes / p.seconds / 1048576).toFixed(1) : "-";
      row.append(element("td", patternName(p)), element("td", p.calls, "number"),
                 element("td", bytesText(p.bytes), "number"), element("td", p.pieces, "number"),
                 element("td", speed, "number"), element("td", p.strategy),
                 element("td", p.reason));
      table.append(row);
    }
    const more = data.pattern_count - data.patterns.length;
    if (more > 0) table.after(element("p", `${more} more patterns took less time.`));
  };

  let aggregatorChart = null;
  const drawAggregators = (file) => {
    if (aggregatorChart) aggregatorChart.destroy();
    const none = file.aggregators.length === 0;
    byId("no-aggregators").hidden = !none;
    byId("aggregators").parentElement.hidden = none;
    aggregatorChart = none ? null : new Chart(byId("aggregators"), {
      data: {
        labels: file.aggregators.map((a) => a.rank),
        datasets: [
          { type: "line", label: "seconds in storage", data: file.aggregators.map((a) => a.seconds),
            borderColor: palette[5], backgroundColor: palette[5], yAxisID: "yTime" },
          { type: "bar", label: "MiB of storage", yAxisID: "y", backgroundColor: palette[0],
            data: file.aggregators.map((a) => a.bytes / 1048576) },
        ],
      },
      options: {
        scales: {
          x: { title: { display: true, text: "rank of the aggregator" } },
          y: { beginAtZero: true, title: { display: true, text: "MiB" } },
          yTime: { beginAtZero: true, position: "right", grid: { drawOnChartArea: false },
                  title: { display: true, text: "seconds" } },
        },
      },
    });
  };

  // Light to dark in lightness as well as hue, so that it also reads in grey.
  const heatColour = (share) => {
    const stops = [[255, 247, 188], [254, 196, 79], [217, 95, 14], [127, 39, 4]];
    const at = Math.min(0.9999, Math.max(0, share)) * (stops.length - 1);
    const low = Math.floor(at);
    const mix = (i) => Math.round(stops[low][i] + (stops[low + 1][i] - stops[low][i]) * (at - low));
    return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
  };

  const drawHeat = (file) => {
    const canvas = byId("heat");
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const draw = canvas.getContext("2d");
    draw.scale(scale, scale);
    draw.font = `12px ${Chart.defaults.font.family}`;
    draw.fillStyle = css("--quiet");
    const rows = file.heat.bytes;
    if (rows.length === 0) {
      draw.fillText("no bytes were asked for", 10, 20);
      return;
    }
    const left = 46, bottom = 34, w = width - left - 8, h = height - bottom - 8;
    const columns = rows[0].length;
    const most = rows.reduce((m, row) => row.reduce((a, b) => Math.max(a, b), m), 0);
    rows.forEach((row, r) => row.forEach((bytes, c) => {
      if (bytes <= 0) return;
      draw.fillStyle = heatColour(bytes / most);
      const x = Math.floor(left + c * w / columns), y = Math.floor(8 + r * h / rows.length);
      draw.fillRect(x, y, Math.ceil(left + (c + 1) * w / columns) - x,
                    Math.ceil(8 + (r + 1) * h / rows.length) - y);
    }));
    draw.strokeStyle = css("--line");
    draw.strokeRect(left, 8, w, h);
    draw.fillStyle = css("--quiet");
    draw.textAlign = "right";
    const labels = Math.min(8, rows.length);
    for (let i = 0; i < labels; ++i) {
      const r = Math.floor(i * rows.length / labels);
      draw.fillText(String(r * file.heat.ranks_per_row), left - 6, 8 + (r + 0.5) * h / rows.length + 4);
    }
    draw.textAlign = "left";
    draw.fillText(bytesText(file.heat.low), left, height - 18);
    draw.textAlign = "right";
    draw.fillText(bytesText(file.heat.high), left + w, height - 18);
    draw.textAlign = "center";
    draw.fillText("file offset →   (ranks ↓)", left + w / 2, height - 4);
    byId("heat-scale").style.background = "linear-gradient(to right," +
      [0, 0.33, 0.66, 1].map(heatColour).join(",") + ")";
    byId("heat-most").textContent = `${bytesText(most)} per cell`;
  };

  const drawFile = () => {
    const file = data.files[byId("file").selectedIndex];
    const facts = [`${file.calls} calls`, bytesText(file.bytes)];
    if (file.ranks) facts.push(`${file.ranks} ranks on ${file.nodes} nodes`);
    if (file.mode) facts.push(`opened ${file.mode}`);
    if (file.file_system) facts.push(`on ${file.file_system}`);
    const hints = Object.entries(file.hints).map(([k, v]) => `${k}=${v}`).join(" ");
    if (hints) facts.push(`hints: ${hints}`);
    byId("file-facts").textContent = facts.join(", ");
    drawAggregators(file);
    drawHeat(file);
  };

  drawTiles();
  drawAdvice();
  drawTimeline();
  drawThroughput();
  drawPhases();
  drawPatterns();
  for (const file of data.files) byId("file").append(element("option", file.name));
  byId("file").addEventListener("change", drawFile);
  window.addEventListener("resize", () => drawHeat(data.files[byId("file").selectedIndex]));
  drawFile();
})();
