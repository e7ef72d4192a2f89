/**
 * `npm run test:of src/domain/rows/Reads.ts …`: runs the tests that import a file, themselves or by what they import from
 * test/ and bench/. If there are none, those in the folders of its noun.
 *
 * `npm run test:quick`: the same for each file that differs from the main branch, but only as many as take about a minute,
 * without processes and browsers of their own. It names those that it leaves out.
 */
import { spawnSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { relative, resolve } from "node:path"
import { nounOf, sourcesIn } from "./sources.ts"

const root = resolve(import.meta.dirname, "..")
const args = process.argv.slice(2)
const isQuick = args.includes("--quick")
const sources = ["test", "bench"].flatMap(sourcesIn)
const byPath = new Map(sources.map((source) => [source.path, source]))

const git = (...command: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { status, stdout } = spawnSync("git", command, { cwd: root, encoding: "utf8" })
  return status === 0 ? stdout.split("\n").filter((line) => line !== "") : []
}

/** What is committed since the main branch, and what is not committed. */
const changed = () => {
  const [base = "HEAD"] = ["origin/main", "main"].flatMap((branch) => git("merge-base", branch, "HEAD"))
  return [...git("diff", "--name-only", base), ...git("ls-files", "--others", "--exclude-standard")]
}

const wanted = isQuick
  ? changed().filter((path) => /^(?:src|test|bench|dashboard)\/.*\.tsx?$/.test(path))
  : args.map((path) => relative(root, resolve(path)))

const reaches = (path: string, goal: string, seen: Set<string>): boolean => {
  if (seen.has(path)) return false
  seen.add(path)
  const imports = byPath.get(path)?.imports ?? []
  return imports.includes(goal) || imports.some((to) => byPath.has(to) && reaches(to, goal, seen))
}

const testsOf = (goal: string): ReadonlyArray<string> => {
  const tests = sources.filter(({ path }) => path.endsWith(".test.ts"))
  if (goal.endsWith(".test.ts")) return byPath.has(goal) ? [goal] : []
  const importing = tests.filter(({ path }) => reaches(path, goal, new Set())).map(({ path }) => path)
  const [, , noun] = nounOf(goal).split("/")
  return importing.length > 0 ? importing : tests.flatMap(({ path }) => (path.split("/")[2] === noun ? [path] : []))
}

/** Seconds that a file took the last time, or that one of its kind takes. */
const secondsOf = (() => {
  const last = new Map<string, number>()
  for (const name of globSync("node_modules/.vite/vitest/*/results.json", { cwd: root })) {
    const { projects } = JSON.parse(readFileSync(resolve(root, name), "utf8")) as {
      readonly projects: Readonly<Record<string, { readonly files: Readonly<Record<string, { duration: number }>> }>>
    }
    for (const { files } of Object.values(projects)) {
      for (const [path, { duration }] of Object.entries(files)) last.set(path, duration / 1000)
    }
  }
  return (path: string) => last.get(path) ?? (/^test\/(?:http|pg)\//.test(path) ? 8 : 2)
})()

/** Of all workers together, two of which a small machine has. */
const budget = 100

const found = Array.from(new Set(wanted.flatMap(testsOf)))
const chosen: Array<string> = []
const left: Array<string> = []
let seconds = 0
for (const path of isQuick ? found.toSorted((a, b) => secondsOf(a) - secondsOf(b)) : found) {
  const isSlow = isQuick && (/^test\/(?:e2e|ui)\//.test(path) || seconds + secondsOf(path) > budget)
  if (!isSlow) seconds += secondsOf(path)
  ;(isSlow ? left : chosen).push(path)
}

if (chosen.length > 0) {
  const vitest = resolve(root, "node_modules/vitest/vitest.mjs")
  process.exitCode = spawnSync(process.execPath, [vitest, "run", ...chosen], { stdio: "inherit" }).status ?? 1
} else if (!isQuick) {
  process.stderr.write("No test of these files was found; usage: npm run test:of src/domain/rows/Reads.ts\n")
  process.exitCode = 1
} else {
  process.stdout.write(`${wanted.length} files differ from the main branch, and no quick test is about them\n`)
}
if (left.length > 0) process.stdout.write(`Left to npm test: ${left.join(" ")}\n`)
