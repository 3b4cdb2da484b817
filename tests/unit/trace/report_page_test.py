"""report_page_test.py SAMPLE_TRACE CHOIR_REPORT CHOIR_EXPLAIN OUTPUT: the page in a real browser.

Makes a trace, its page and its explanation, opens the page in headless Chromium without network and
checks: no message on the console, every chart drawn, the advice there. The screenshot stays in OUTPUT.
Exit status 77: no Chromium here, so only the page's text was checked.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

SKIPPED = 77
CHARTS = ["timeline", "throughput", "phases", "aggregators", "heat"]

# Runs in a copy of the page: counts the pixels that each canvas really has.
PROBE = """<script>window.addEventListener("load", () => setTimeout(() => {
  const drawn = {};
  for (const canvas of document.querySelectorAll("canvas")) {
    const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    let painted = 0;
    for (let i = 0; i < all.length; i += 4)
      if (all[i + 3] > 0) { ++painted; colours.add(all[i] << 16 | all[i + 1] << 8 | all[i + 2]); }
    drawn[canvas.id] = {painted, colours: colours.size};
  }
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify({drawn, title: document.title, injected:
    document.querySelectorAll("main b").length - document.querySelectorAll("#advice b").length,
    rules: [...document.querySelectorAll("#advice li")].map((e) => e.dataset.rule),
    files: document.querySelectorAll("#file option").length,
    aggregated: Chart.getChart("aggregators").scales.y.max});
  document.body.append(probe);
}, 50));</script>"""


def check(condition, message):
    if not condition:
        sys.exit("report_page_test: " + message)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, f"{command[0]} failed: {done.stderr}")
    return done.stdout


def browser():
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def chromium(program, profile, *arguments):
    return subprocess.run(
        [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}",
         "--force-device-scale-factor=1", "--window-size=1280,2050", "--virtual-time-budget=5000",
         "--enable-logging=stderr", "--v=0", *arguments],
        capture_output=True, text=True, timeout=90, errors="replace")


def colours_of_png(path):
    """Distinct pixel values of an 8-bit RGB or RGBA PNG, filters undone line by line."""
    raw = open(path, "rb").read()
    width, height = int.from_bytes(raw[16:20], "big"), int.from_bytes(raw[20:24], "big")
    depth = {2: 3, 6: 4}[raw[25]]
    packed, at = b"", 8
    while at < len(raw):
        size, kind = int.from_bytes(raw[at:at + 4], "big"), raw[at + 4:at + 8]
        if kind == b"IDAT":
            packed += raw[at + 8:at + 8 + size]
        at += 12 + size
    lines, stride = zlib.decompress(packed), width * depth
    before, colours = bytearray(stride), set()
    for y in range(height):
        kind = lines[y * (stride + 1)]
        line = bytearray(lines[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        if kind == 1:
            for i in range(depth, stride):
                line[i] = (line[i] + line[i - depth]) & 255
        elif kind == 2:
            for i in range(stride):
                line[i] = (line[i] + before[i]) & 255
        elif kind == 3:
            for i in range(stride):
                left = line[i - depth] if i >= depth else 0
                line[i] = (line[i] + (left + before[i]) // 2) & 255
        elif kind == 4:
            for i in range(stride):
                a, b = (line[i - depth] if i >= depth else 0), before[i]
                c = before[i - depth] if i >= depth else 0
                pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                line[i] = (line[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        if y % 8 == 0:
            colours.update(bytes(line[i:i + 3]) for i in range(0, stride, depth))
        before = line
    return width, height, len(colours)


def check_text(page, explained):
    text = open(page, encoding="utf-8").read()
    check("/*CHART*/" not in text and "Chart.js v" in text, "the chart library is not inside")
    outside = re.findall(r"(?:src|href)=[\"'](?!data:)[^\"']+", text)
    check(not outside, f"the page refers to something outside: {outside}")
    check("</script><b>" not in text, "a file name escaped from its script")
    check("choir place" in explained, "the explanation lacks the advice on placement")
    check("write-only" in explained, "the explanation lacks the advice on write-only files")


def check_probe(dumped):
    found = re.search(r'<pre id="probe">(.*?)</pre>', dumped, re.S)
    check(found, "the page did not come to its end")
    probe = json.loads(html.unescape(found.group(1)))
    for chart in CHARTS:
        drawn = probe["drawn"].get(chart, {"painted": 0, "colours": 0})
        check(drawn["painted"] > 1000 and drawn["colours"] > 3, f"chart {chart} is not drawn: {drawn}")
    check(probe["injected"] == 0, "a file name became an element")
    check(probe["files"] == 3, f"expected three files, not {probe['files']}")
    check(probe["aggregated"] >= 900, f"the aggregators' bars do not reach 960 MiB: {probe['aggregated']}")
    check("exchange-between-nodes" in probe["rules"], f"advice is missing: {probe['rules']}")


def main(sample, report, explain, output):
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    trace, page = os.path.join(output, "trace"), os.path.join(output, "report.html")
    run(sample, trace)
    run(report, trace, "-o", page)
    check_text(page, run(explain, trace))

    program = browser()
    if program is None:
        print("SKIPPED: no Chromium; only the text of the page was checked (install: chromium)")
        return SKIPPED
    profile = os.path.join(output, "profile")
    probed = os.path.join(output, "probed.html")
    with open(probed, "w", encoding="utf-8") as out:
        out.write(open(page, encoding="utf-8").read().replace("</body>\n</html>", PROBE + "</body></html>"))
    done = chromium(program, profile, "--dump-dom", "file://" + probed)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    check(not console, f"the console is not silent: {console}")
    check_probe(done.stdout)
    picture = os.path.join(output, "report.png")
    chromium(program, profile, f"--screenshot={picture}", "file://" + page)
    check(os.path.exists(picture), "no screenshot")
    width, height, colours = colours_of_png(picture)
    check(colours > 100, f"the screenshot is nearly empty: {colours} colours")
    shutil.rmtree(profile, ignore_errors=True)
    print(f"page drawn, {width}x{height}, {colours} colours; screenshot: {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
