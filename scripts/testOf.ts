/**
 * `npm run test:of src/domain/rows/Reads.ts …`: runs the tests that import a file, themselves or by what they import from
 * test/ and bench/. If there are none, those in the folders of its noun.
 */
import { spawnSync } from "node:child_process"
import { relative, resolve } from "node:path"
import { nounOf, sourcesIn } from "./sources.ts"

const root = resolve(import.meta.dirname, "..")
const wanted = process.argv.slice(2).map((path) => relative(root, resolve(path)))
const sources = ["test", "bench"].flatMap(sourcesIn)
const byPath = new Map(sources.map((source) => [source.path, source]))

const reaches = (path: string, goal: string, seen: Set<string>): boolean => {
  if (seen.has(path)) return false
  seen.add(path)
  const imports = byPath.get(path)?.imports ?? []
  return imports.includes(goal) || imports.some((to) => byPath.has(to) && reaches(to, goal, seen))
}

const testsOf = (goal: string): ReadonlyArray<string> => {
  const tests = sources.filter(({ path }) => path.endsWith(".test.ts"))
  const importing = tests.filter(({ path }) => reaches(path, goal, new Set())).map(({ path }) => path)
  const [, , noun] = nounOf(goal).split("/")
  return importing.length > 0 ? importing : tests.flatMap(({ path }) => (path.split("/")[2] === noun ? [path] : []))
}

const found = new Set(wanted.flatMap(testsOf))
if (found.size === 0) {
  process.stderr.write("No test of these files was found; usage: npm run test:of src/domain/rows/Reads.ts\n")
  process.exitCode = 1
} else {
  const vitest = resolve(root, "node_modules/vitest/vitest.mjs")
  process.exitCode = spawnSync(process.execPath, [vitest, "run", ...found], { stdio: "inherit" }).status ?? 1
}
