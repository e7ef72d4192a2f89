import { Effect } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type ProgramEnv } from "./Login.ts"
import { outputOf } from "./Process.ts"

/** How long reading the table of contents may take, in ms. */
const patience = 120_000

/** Contents of an archive of pg_dump. */
interface Archive {
  /** Number of entries, including those about the archive itself. */
  readonly entries: number
  /**
   * Files for --use-list, in the order in which they are restored; undefined without entries. Only `filling` is restored by
   * pg_restore itself, in parallel and without a search path. The other ones are scripts: `first` and `last` have what takes
   * more rights than those of the role that restores, or SET SESSION AUTHORIZATION, `definitions` and `rest` what may be
   * written with names that a search path has to find.
   */
  readonly lists: Lists
  /** A directory for files of this restore, which the service alone can read. */
  readonly directory: string
}

const listFailed = (cause: unknown) =>
  new DumpFailed({ reason: `Failed to list the contents of the archive: ${String(cause)}` })

const first = /^\d+; \d+ \d+ (SCHEMA|EXTENSION|COMMENT - EXTENSION) /
const last =
  /^\d+; \d+ \d+ (ACL|DEFAULT ACL|EVENT TRIGGER|PUBLICATION|PUBLICATION TABLES IN SCHEMA|PUBLICATION TABLE|(COMMENT|SECURITY LABEL) - (EVENT TRIGGER|PUBLICATION)) /

/** Builds what takes long from the rows that are there. */
const built = /^\d+; \d+ \d+ (CONSTRAINT|INDEX(?! ATTACH)|FK CONSTRAINT) /
const derivedRows = /^\d+; \d+ \d+ MATERIALIZED VIEW /

/** Syntax whose operator has no place for a schema. */
const pathNeeded = /\bIS\s+(?:NOT\s+)?DISTINCT\s+FROM\b|\bNULLIF\b|\bCASE\b/i

const numberOf = (line: string) => line.slice(0, line.indexOf(";"))
const linesOf = (output: string) => output.split("\n").filter((line) => /^\d+; /.test(line))

/** Removes comments and quoted names, which are not keywords. */
const code = (text: string) => text.replaceAll(/^--.*$|"(?:[^"]|"")*"/gm, "")

/** Numbers of the entries whose text needs a search path, from a script of --verbose. */
const needingPath = (script: string) =>
  new Set(
    script
      .split(/^-- TOC entry (?=\d)/m)
      .flatMap((text) => (pathNeeded.test(code(text)) ? [/^\d+/.exec(text)?.[0] ?? ""] : []))
  )

type Lists = Readonly<Record<"first" | "definitions" | "filling" | "rest" | "last", string | undefined>>

/** The list of each entry, by the entry's line. */
const sorting = (lines: ReadonlyArray<string>, before: Set<string>, rows: Set<string>, needsPath: Set<string>) => {
  // A materialized view that needs a primary key comes late, and its indexes with it.
  const late = lines.findIndex((line) => derivedRows.test(line) && !before.has(numberOf(line)))
  const from = late < 0 ? lines.length : late
  return new Map(
    lines.map((line, at): readonly [string, keyof Lists] => {
      const number = numberOf(line)
      if (first.test(line)) return [line, "first"]
      if (last.test(line)) return [line, "last"]
      if (before.has(number)) return [line, "definitions"]
      const fills = rows.has(number) || (built.test(line) && at < from && !needsPath.has(number))
      return [line, fills ? "filling" : "rest"]
    })
  )
}

/** A directory for files of this restore, which is removed when the scope closes. */
const ownDirectory = Effect.acquireRelease(
  Effect.tryPromise({ try: () => mkdtemp(join(tmpdir(), "svc-restore-")), catch: listFailed }),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
)

const writeList = (path: string, lines: ReadonlyArray<string>) =>
  Effect.tryPromise({
    try: async () => {
      if (lines.length === 0) return undefined
      await writeFile(path, lines.map((line) => `${numberOf(line)};\n`).join(""))
      return path
    },
    catch: listFailed
  })

/** Reads the table of contents; fails for a file that is not an archive, or one of a newer pg_dump. */
export const readArchive = Effect.fnUntraced(function* (restore: string, env: ProgramEnv, file: string) {
  const list = (...options: ReadonlyArray<string>) => outputOf(restore, ["--list", ...options, file], env, patience)
  const section = (name: string) =>
    Effect.map(list(`--section=${name}`), (text) => new Set(linesOf(text ?? "").map(numberOf)))
  const [output, before, rows] = yield* Effect.all([list(), section("pre-data"), section("data")], { concurrency: 3 })
  const entries = /^; +TOC Entries: (\d+)$/m.exec(output ?? "")?.[1]
  if (output === undefined || entries === undefined) {
    const why = (output ?? "pg_restore did not respond").replace("pg_restore: error: ", "").trim()
    return yield* new DumpFailed({ reason: `Failed to read the archive: ${why.slice(0, 300)}` })
  }
  const directory = yield* ownDirectory
  const lines = linesOf(output)
  const builds = yield* writeList(
    join(directory, "built"),
    lines.filter((line) => built.test(line))
  )
  const texts =
    builds === undefined
      ? ""
      : yield* outputOf(restore, ["--file=-", "--verbose", `--use-list=${builds}`, file], env, patience)
  const sorted = sorting(lines, before, rows, needingPath(texts ?? ""))
  const write = (name: keyof Lists) =>
    writeList(
      join(directory, name),
      lines.filter((line) => sorted.get(line) === name)
    )
  const lists: Lists = {
    first: yield* write("first"),
    definitions: yield* write("definitions"),
    filling: yield* write("filling"),
    rest: yield* write("rest"),
    last: yield* write("last")
  }
  return { entries: Number(entries), lists, directory } satisfies Archive
})
