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
   * Files for --use-list, in the order in which they are restored; undefined without entries. The first and the last have
   * what takes more rights than those of the role that restores, or SET SESSION AUTHORIZATION; they are short.
   */
  readonly lists: {
    readonly first: string | undefined
    readonly middle: string | undefined
    readonly last: string | undefined
  }
  /** A directory for files of this restore, which the service alone can read. */
  readonly directory: string
}

const first = /^\d+; \d+ \d+ (SCHEMA|EXTENSION|COMMENT - EXTENSION) /
const last =
  /^\d+; \d+ \d+ (ACL|DEFAULT ACL|EVENT TRIGGER|PUBLICATION|PUBLICATION TABLES IN SCHEMA|PUBLICATION TABLE|(COMMENT|SECURITY LABEL) - (EVENT TRIGGER|PUBLICATION)) /

/** Writes the lists; they are removed when the scope closes. */
const writeLists = (lines: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const directory = await mkdtemp(join(tmpdir(), "svc-restore-"))
        const write = async (name: string, wanted: (line: string) => boolean) => {
          const numbers = lines.filter(wanted).map((line) => `${line.slice(0, line.indexOf(";"))};\n`)
          if (numbers.length === 0) return undefined
          const path = join(directory, name)
          await writeFile(path, numbers.join(""))
          return path
        }
        return {
          directory,
          lists: {
            first: await write("first", (line) => first.test(line)),
            middle: await write("middle", (line) => !first.test(line) && !last.test(line)),
            last: await write("last", (line) => last.test(line))
          }
        }
      },
      catch: (cause) => new DumpFailed({ reason: `Failed to list the contents of the archive: ${String(cause)}` })
    }),
    ({ directory }) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
  )

/** Reads the table of contents; fails for a file that is not an archive, or one of a newer pg_dump. */
export const readArchive = Effect.fnUntraced(function* (restore: string, env: ProgramEnv, file: string) {
  const output = yield* outputOf(restore, ["--list", file], env, patience)
  const entries = /^; +TOC Entries: (\d+)$/m.exec(output ?? "")?.[1]
  if (output === undefined || entries === undefined) {
    const why = (output ?? "pg_restore did not respond").replace("pg_restore: error: ", "").trim()
    return yield* new DumpFailed({ reason: `Failed to read the archive: ${why.slice(0, 300)}` })
  }
  const lines = output.split("\n").filter((line) => /^\d+; /.test(line))
  return { entries: Number(entries), ...(yield* writeLists(lines)) } satisfies Archive
})
