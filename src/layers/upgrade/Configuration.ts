import { Effect } from "effect"
import { appendFile, chown, readFile, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { type PostgresUser } from "../postgres/embedded/User.ts"
import { attempt } from "../process/StartError.ts"
import { type Ask } from "./Servers.ts"

/** Settings that are about the old directory. */
const ofPlace = new Set(["data_directory", "hba_file", "ident_file", "external_pid_file"])

const auto = "postgresql.auto.conf"

const line = (name: string, value: string) => `${name} = '${value.replaceAll("'", "''")}'\n`

/**
 * Gives a new cluster the settings in the files of an old one, which operators may have edited, and its rules of access.
 * Settings that PostgreSQL no longer has are left out, with a warning.
 */
export const copyConfiguration = Effect.fnUntraced(function* (
  old: Ask,
  made: Ask,
  major: string,
  from: string,
  to: string,
  user: PostgresUser
) {
  const given = yield* old("select name, setting, sourcefile from pg_file_settings where error is null order by seqno")
  const known = new Set((yield* made("select lower(name) as name from pg_settings")).map(({ name }) => String(name)))
  const texts = { main: new Map<string, string>(), auto: new Map<string, string>() }
  const gone: Array<string> = []
  for (const { name, setting, sourcefile } of given) {
    if (ofPlace.has(String(name))) continue
    // Names with a dot are of extensions.
    if (!known.has(String(name).toLowerCase()) && !String(name).includes(".")) gone.push(String(name))
    else texts[basename(String(sourcefile)) === auto ? "auto" : "main"].set(String(name), String(setting))
  }
  if (gone.length > 0) {
    yield* Effect.logWarning(`Settings that this PostgreSQL does not have were left out: ${gone.join(", ")}`)
  }
  const lines = (settings: ReadonlyMap<string, string>) =>
    [...settings].map(([name, value]) => line(name, value)).join("")
  yield* attempt(`Failed to copy the settings of ${from}`, async () => {
    const title = `\n# Settings of the data directory of PostgreSQL ${major}\n`
    await appendFile(join(to, "postgresql.conf"), title + lines(texts.main))
    await appendFile(join(to, auto), lines(texts.auto))
    for (const name of ["pg_hba.conf", "pg_ident.conf"]) {
      const content = await readFile(join(from, name)).catch(() => undefined)
      if (content !== undefined) await writeFile(join(to, name), content)
    }
    if (user !== undefined) {
      for (const name of ["postgresql.conf", auto, "pg_hba.conf", "pg_ident.conf"]) {
        await chown(join(to, name), user.uid, user.gid)
      }
    }
  })
})
