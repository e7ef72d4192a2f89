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
   * Files for --use-list, in the order in which they are restored; undefined restores everything at once. Event triggers
   * come last and separately: pg_restore first creates disabled ones as enabled, so that with several jobs they would fire
   * for objects that are restored meanwhile.
   */
  readonly lists: ReadonlyArray<string | undefined>
}

const eventTrigger = /^\d+; \d+ \d+ ((COMMENT|SECURITY LABEL) - )?EVENT TRIGGER /

/** Writes the two lists; they are removed when the scope closes. */
const writeLists = (lines: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const directory = await mkdtemp(join(tmpdir(), "svc-restore-"))
        const lists = [join(directory, "first"), join(directory, "last")] as const
        const numbers = (wanted: boolean) =>
          lines
            .filter((line) => eventTrigger.test(line) === wanted)
            .map((line) => `${line.slice(0, line.indexOf(";"))};\n`)
        await writeFile(lists[0], numbers(false).join(""))
        await writeFile(lists[1], numbers(true).join(""))
        return { directory, lists }
      },
      catch: (cause) => new DumpFailed({ reason: `Failed to list the contents of the archive: ${String(cause)}` })
    }),
    ({ directory }) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
  ).pipe(Effect.map(({ lists }) => lists))

/** Reads the table of contents; fails for a file that is not an archive, or one of a newer pg_dump. */
export const readArchive = Effect.fnUntraced(function* (restore: string, env: ProgramEnv, file: string) {
  const output = yield* outputOf(restore, ["--list", file], env, patience)
  const entries = /^; +TOC Entries: (\d+)$/m.exec(output ?? "")?.[1]
  if (output === undefined || entries === undefined) {
    const why = (output ?? "pg_restore did not respond").replace("pg_restore: error: ", "").trim()
    return yield* new DumpFailed({ reason: `Failed to read the archive: ${why.slice(0, 300)}` })
  }
  const lines = output.split("\n").filter((line) => /^\d+; /.test(line))
  const lists = lines.some((line) => eventTrigger.test(line)) ? yield* writeLists(lines) : [undefined]
  const archive: Archive = { entries: Number(entries), lists }
  return archive
})
