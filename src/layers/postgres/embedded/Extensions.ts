import { Effect } from "effect"
import { chmod, mkdir, stat, writeFile } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { list, SettingError } from "../../../domain/Settings.ts"
import { placeholders } from "../../../domain/supabase/Extensions.ts"
import { supabaseEnabled } from "../../../services/supabase/Settings.ts"
import { attempt, StartError } from "../../process/StartError.ts"
import { type PostgresBinaries } from "./Binaries.ts"

/**
 * SVC_PG_EXTENSIONS: directories of further extensions for the embedded server, of which one has `extension/*.control`, and
 * the same or another the libraries. The server's settings separate them by colons.
 */
export const extensionDirectories = Effect.flatMap(list("SVC_PG_EXTENSIONS", []), (directories) => {
  const unfit = directories.find((path) => !isAbsolute(path) || /[:\0]/.test(path))
  return unfit === undefined
    ? Effect.succeed(directories)
    : Effect.fail(
        new SettingError({
          message: `SVC_PG_EXTENSIONS must be absolute paths without colons, separated by commas; ${JSON.stringify(unfit)} is not`
        })
      )
})

const version = "1.0"

/** A placeholder says when it is created that it has no functions, unless the database has them anyway. */
const filesOf = (name: string) =>
  Object.entries({
    [`${name}.control`]: [
      `comment = 'a placeholder without functions, for files that name ${name}'`,
      `default_version = '${version}'`,
      "relocatable = true",
      "superuser = false"
    ],
    [`${name}--${version}.sql`]:
      name === "pgmq" || name === "pg_cron"
        ? []
        : [
            `do $$ begin raise warning '${name} is not included: the extension has no functions here' using hint = 'See docs/operations.md#extensions'; end $$;`
          ]
  })

/** Writes the placeholders into a directory that the server's user may read. */
const writePlaceholders = (directory: string) =>
  attempt(`Failed to write ${directory}`, async () => {
    const inside = join(directory, "extension")
    await mkdir(inside, { recursive: true })
    for (const path of [directory, inside]) await chmod(path, 0o755)
    for (const [file, lines] of Object.keys(placeholders).flatMap(filesOf)) {
      const path = join(inside, file)
      await writeFile(path, `${lines.join("\n")}\n`)
      await chmod(path, 0o644)
    }
  })

/**
 * Settings by which a server finds extensions that are not its own. Real ones precede placeholders.
 *
 * @param copies directory for files that the server's user can read
 */
export const extensionSettings = Effect.fnUntraced(function* (copies: string, { major }: PostgresBinaries) {
  const given = yield* Effect.mapError(extensionDirectories, ({ message }) => new StartError({ message }))
  for (const directory of given) {
    const there = yield* Effect.promise(() => stat(directory).catch(() => undefined))
    if (there?.isDirectory() !== true) {
      return yield* new StartError({ message: `${directory} of SVC_PG_EXTENSIONS is not a directory` })
    }
  }
  const supabase = yield* Effect.mapError(supabaseEnabled, ({ message }) => new StartError({ message }))
  const own = supabase && /^\/[^:]+$/.test(copies) ? [join(copies, "postgresql-extensions")] : []
  for (const directory of own) yield* writePlaceholders(directory)
  const found = [...given, ...own]
  // The settings exist since PostgreSQL 18.
  if (found.length === 0 || Number(major) < 18) return {}
  return {
    extension_control_path: ["$system", ...found].join(":"),
    ...(given.length === 0 ? {} : { dynamic_library_path: ["$libdir", ...given].join(":") })
  }
})
