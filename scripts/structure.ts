/**
 * `npm run structure`: prints the size of every folder, the files that may be about two nouns, and those that should
 * perhaps be part of another file. Exit code 1 if a folder has too many files, if imports tie nouns into a circle, if two
 * files of src export one name, or if a test has the name of no file. The linter, which runs after this, checks the
 * imports between the strata.
 */
import { basename, dirname } from "node:path"
import { circularImports, homonymsOf, misnamedTests, sourcesIn } from "./sources.ts"

const maxFiles = 16
const maxLines = 250
const minLines = 40

/** Every noun has a `layer`. */
const sharedName = "layer"

/** Folders with one file for each noun of the API, and generated code. */
const exempt = /^(src\/http\/(api|handlers)|src\/layers\/flags\/gen.*|src\/layers\/install\/migrations)$/

const print = (text: string) => process.stdout.write(`${text}\n`)
const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, number) => total + number, 0)

let tooLarge = 0
for (const top of ["src", "dashboard/src", "test", "bench"]) {
  const files = sourcesIn(top)
  print(`\n${top}: ${files.length} files, ${sum(files.map(({ lines }) => lines))} lines`)
  const folders = Map.groupBy(files, ({ path }) => dirname(path))
  for (const [folder, inside] of [...folders].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const large = top.endsWith("src") && inside.length > maxFiles && !exempt.test(folder)
    if (large) tooLarge++
    const lines = sum(inside.map((file) => file.lines))
    print(`${large ? "!" : " "} ${String(inside.length).padStart(3)} ${String(lines).padStart(6)}  ${folder}`)
  }
  if (!top.endsWith("src")) continue
  const own = files.filter(({ path }) => !exempt.test(dirname(path)))
  print(`\nOver ${maxLines} lines (is there a second noun?):`)
  for (const { lines, path } of own) if (lines > maxLines) print(`  ${lines} ${path}`)
  print(`\nUnder ${minLines} lines with one importer (should it be part of that one?):`)
  for (const { lines, path } of own) {
    const [importer, ...others] = files.filter(({ imports }) => imports.includes(path))
    if (lines >= minLines || importer === undefined || others.length > 0 || basename(path) === "layer.ts") continue
    print(`  ${String(lines).padStart(3)} ${path} <- ${importer.path}`)
  }
}

if (tooLarge > 0) {
  print(`\n${tooLarge} folders have over ${maxFiles} files: give each noun its own folder`)
  process.exitCode = 1
}

const sources = sourcesIn("src").filter(({ path }) => !exempt.test(dirname(path)) || path.startsWith("src/http/"))
const circles = circularImports(sources)
for (const [pair, imports] of circles) print(`\nIn a circle: ${pair}\n  ${imports.join("\n  ")}`)
if (circles.size > 0) {
  print("\nImports tie these nouns into a circle: move what both need to the one below")
  process.exitCode = 1
}

const homonyms = Array.from(homonymsOf(sources)).filter(([name]) => name !== sharedName)
for (const [name, paths] of homonyms) print(`\nSeveral meanings: ${name} in ${paths.join(", ")}`)
if (homonyms.length > 0) {
  print("\nOne exported name has one meaning: rename it where it is the less general one")
  process.exitCode = 1
}

const misnamed = misnamedTests(["src", "dashboard/src", "test", "bench", "scripts"].flatMap(sourcesIn))
for (const path of misnamed) print(`\nNo such unit: ${path}`)
if (misnamed.length > 0) {
  print("\nA capital names the source file of which this is the test; a behaviour of the noun is in kebab-case")
  process.exitCode = 1
}
