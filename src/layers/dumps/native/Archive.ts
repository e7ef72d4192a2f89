import { Effect } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type ProgramEnv } from "./Login.ts"
import { answerOf } from "./Process.ts"

/** How long reading the table of contents may take, in ms. */
const patience = 120_000

/** What is in an archive of pg_dump. */
interface Archive {
  /** How many entries it has, with those that are about the archive itself. */
  readonly entries: number
  /**
   * Files for --use-list, in the order in which they are restored; undefined stands for all at once. Event triggers are
   * made at the end and by themselves: pg_restore makes those that are disabled enabled first, and with several jobs they
   * fire at what is done meanwhile.
   */
  readonly lists: ReadonlyArray<string | undefined>
}

const eventTrigger = /^\d+; \d+ \d+ ((COMMENT|SECURITY LABEL) - )?EVENT TRIGGER /

/** Two lists, until the scope closes. */
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
      catch: (cause) => new DumpFailed({ reason: `The archive's contents can't be listed: ${String(cause)}` })
    }),
    ({ directory }) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
  ).pipe(Effect.map(({ lists }) => lists))

/** Reads its table of contents; fails when it is none of pg_dump's, or of a newer one's. */
export const readArchive = Effect.fnUntraced(function* (restore: string, env: ProgramEnv, file: string) {
  const said = yield* answerOf(restore, ["--list", file], env, patience)
  const entries = /^; +TOC Entries: (\d+)$/m.exec(said ?? "")?.[1]
  if (said === undefined || entries === undefined) {
    const why = (said ?? "pg_restore does not answer").replace("pg_restore: error: ", "").trim()
    return yield* new DumpFailed({ reason: `The archive can't be read: ${why.slice(0, 300)}` })
  }
  const lines = said.split("\n").filter((line) => /^\d+; /.test(line))
  const lists = lines.some((line) => eventTrigger.test(line)) ? yield* writeLists(lines) : [undefined]
  const archive: Archive = { entries: Number(entries), lists }
  return archive
})
