import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

/** A source file: its path and its imports are relative to the repository. */
export interface Source {
  readonly path: string
  readonly lines: number
  readonly imports: ReadonlyArray<string>
  /** The names that it exports where they are declared. */
  readonly exports: ReadonlyArray<string>
}

const importing = /\b(?:from|import|URL)\s*\(?\s*"(\.[^"]+)"/g
const exporting = /^export (?:declare )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) ([\w$]+)/gm

const capturesOf = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, name = ""]) => name)

/** The TypeScript files of a folder and of those in it. */
export const sourcesIn = (folder: string): ReadonlyArray<Source> =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => {
      const path = join(folder, name)
      const text = readFileSync(join(root, path), "utf8")
      const imports = capturesOf(text, importing).map((to) => relative(root, resolve(root, dirname(path), to)))
      // Overloads, and a type beside its value, are one name.
      return { path, lines: text.split("\n").length - 1, imports, exports: [...new Set(capturesOf(text, exporting))] }
    })

/** The noun that a file of src belongs to: the folder in its stratum, or the file itself if it is in none. */
export const nounOf = (path: string): string => path.split("/").slice(0, 3).join("/").replace(/\.ts$/, "")

/** Imports that lead from one noun to another and, over others perhaps, back: by the pair of nouns. */
export const circularImports = (
  sources: ReadonlyArray<Pick<Source, "path" | "imports">>
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const links = sources.flatMap(({ imports, path }) =>
    imports.map((to) => ({ from: nounOf(path), to: nounOf(to), text: `${path} -> ${to}` }))
  )
  const between = links.filter(({ from, to }) => from !== to)
  const next = Map.groupBy(between, ({ from }) => from)
  const reaches = (from: string, wanted: string, seen: Set<string> = new Set()): boolean => {
    if (from === wanted) return true
    if (seen.has(from)) return false
    seen.add(from)
    return (next.get(from) ?? []).some(({ to }) => reaches(to, wanted, seen))
  }
  const circular = between.filter(({ from, to }) => reaches(to, from))
  const pairs = Map.groupBy(circular, ({ from, to }) => `${from} -> ${to}`)
  return new Map(Array.from(pairs, ([pair, all]) => [pair, all.map(({ text }) => text)]))
}

/** Names that several files export, with those files. */
export const homonymsOf = (
  sources: ReadonlyArray<Pick<Source, "path" | "exports">>
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const all = sources.flatMap(({ exports, path }) => exports.map((name) => ({ name, path })))
  const several = Array.from(Map.groupBy(all, ({ name }) => name)).filter(([, places]) => places.length > 1)
  return new Map(several.map(([name, places]) => [name, places.map(({ path }) => path)]))
}

/** Tests named with a capital, as the unit of a file, although no file has that name. */
export const misnamedTests = (sources: ReadonlyArray<Pick<Source, "path">>): ReadonlyArray<string> => {
  const paths = sources.map(({ path }) => path)
  const units = new Set(paths.map((path) => basename(path).replace(/\.tsx?$/, "")))
  return paths.filter((path) => {
    const [, unit] = /\/([A-Z][^/]*)\.test\.tsx?$/.exec(path) ?? []
    return unit !== undefined && !units.has(unit)
  })
}
