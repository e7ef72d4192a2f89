import { Console, Effect, Option, Schema, Stream } from "effect"
import { existsSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import {
  FunctionLogLine,
  FunctionOverview,
  FunctionRecord,
  FunctionSecret,
  FunctionVersion,
  isFunctionName
} from "../../domain/functions/Function.ts"
import { text } from "../../domain/Settings.ts"
import { functionFiles } from "../functions/Folder.ts"
import { AsJson, columns, CommandFailed, printResult, stylesFor } from "../process/Output.ts"
import { typedSecret } from "../moving/Passphrase.ts"
import { askService, callService, openService, type RunningService, reasonOfCause } from "./RunningService.ts"

const path = "/api/functions"
const failed = (message: string) => new CommandFailed({ message, code: 1 })

/** `svc functions list`. */
export const listFunctions = (at: RunningService) =>
  Effect.flatMap(askService(Schema.Array(FunctionOverview), "functions", at, path), (functions) =>
    printResult(
      columns(
        ["name", "version", "state", "calls", "errors", "deployed"],
        functions.map(({ calls, errors, name, source, state, updated_at, version }) => [
          name,
          source === "folder" ? "folder" : `v${version}`,
          state,
          String(calls),
          String(errors),
          updated_at ?? "-"
        ])
      ),
      functions
    )
  )

/** The folder of functions: what is given, else the setting, else where Supabase's command has them. */
export const functionsFolder = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const set = Option.getOrUndefined(given) ?? (yield* text("SVC_FUNCTIONS_DIR", undefined))
  const folder = set ?? ["functions", "supabase/functions"].find((one) => existsSync(one))
  if (folder === undefined || !existsSync(folder)) {
    return yield* failed(
      `There is no folder ${folder ?? "functions or supabase/functions"}: name the folder of functions with --dir`
    )
  }
  return resolve(folder)
})

const isFunction = (folder: string, name: string) => isFunctionName(name) && existsSync(join(folder, name, "index.ts"))

interface Deploying extends RunningService {
  readonly names: ReadonlyArray<string>
  readonly dir: Option.Option<string>
  readonly verifyJwt: Option.Option<boolean>
}

/** `svc functions deploy`: each function with the files beside it, and the folders that begin with `_`. */
export const deployFunctions = Effect.fnUntraced(function* ({ dir, names, verifyJwt, ...at }: Deploying) {
  const folder = yield* functionsFolder(dir)
  const wanted =
    names.length > 0
      ? names
      : (yield* Effect.promise(() => readdir(folder))).filter((name) => isFunction(folder, name)).toSorted()
  const missing = wanted.find((name) => !isFunction(folder, name))
  if (missing !== undefined) return yield* failed(`There is no ${join(folder, missing, "index.ts")}`)
  if (wanted.length === 0) return yield* failed(`${folder} has no functions: a function is a folder with an index.ts`)
  const deployed: Array<FunctionRecord> = []
  for (const name of wanted) {
    const files = yield* Effect.tryPromise({
      try: () => functionFiles(folder, name),
      catch: (cause) => failed(reasonOfCause(cause))
    })
    const options = Option.isNone(verifyJwt) ? {} : { verify_jwt: verifyJwt.value }
    const payload = { files, entrypoint: `${name}/index.ts`, ...options }
    const record = yield* askService(FunctionRecord, "a function", at, `${path}/${name}`, payload, "PUT")
    deployed.push(record)
    if (!(yield* AsJson)) yield* Console.log(`${name}  v${record.version}`)
  }
  if (yield* AsJson) yield* printResult("", deployed)
  return undefined
})

const colours = { error: "red", warn: "yellow", info: "green", debug: "dim" } as const

interface Logs extends RunningService {
  readonly name: string
  readonly follow: boolean
  readonly limit: Option.Option<number>
}

/** `svc functions logs`: the newest at the end; with `--follow` until Ctrl+C. */
export const functionLogs = Effect.fnUntraced(function* ({ follow, limit, name, ...at }: Logs) {
  const styles = stylesFor(process.stdout)
  const asJson = yield* AsJson
  const print = (line: FunctionLogLine) => {
    const style = styles[colours[line.level as keyof typeof colours] ?? "bold"]
    return Console.log(
      asJson ? JSON.stringify(line) : `${line.at} v${line.version} ${style(line.level.padEnd(5))} ${line.text}`
    )
  }
  const query = `limit=${Option.getOrElse(limit, () => 100)}`
  if (!follow) {
    const lines = yield* askService(Schema.Array(FunctionLogLine), "logs", at, `${path}/${name}/logs?${query}`)
    yield* Effect.forEach(lines.toReversed(), print, { discard: true })
    return
  }
  const { response, url } = yield* openService(at, `${path}/${name}/logs?follow=true&${query}`)
  const { body } = response
  if (body === null) return
  yield* Stream.fromReadableStream({
    evaluate: () => body,
    onError: (cause) => failed(`The connection to ${url} ended: ${reasonOfCause(cause)}`)
  }).pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line !== ""),
    Stream.mapEffect((line) => Schema.decodeEffect(Schema.fromJsonString(FunctionLogLine))(line)),
    Stream.runForEach(print)
  )
})

interface Rollback extends RunningService {
  readonly name: string
  readonly version: Option.Option<number>
}

/** `svc functions rollback`: to the given version, else to the one before the current. */
export const rollbackFunction = Effect.fnUntraced(function* ({ name, version, ...at }: Rollback) {
  const now = yield* askService(FunctionRecord, "a function", at, `${path}/${name}`)
  const versions = yield* askService(Schema.Array(FunctionVersion), "versions", at, `${path}/${name}/versions`)
  const to = Option.getOrUndefined(version) ?? versions.map((one) => one.version).find((one) => one < now.version)
  if (to === undefined) return yield* failed(`${name} has no version before v${now.version}`)
  const selected = yield* askService(FunctionRecord, "a function", at, `${path}/${name}/versions/${to}/select`, {})
  return yield* printResult(`${name}  v${selected.version}, before v${now.version}`, selected)
})

const printSecrets = (secrets: ReadonlyArray<typeof FunctionSecret.Type>) =>
  printResult(
    columns(
      ["name", "set"],
      secrets.map(({ name, updated_at }) => [name, updated_at])
    ),
    secrets
  )

/** `svc functions secrets list`: the names. */
export const listSecrets = (at: RunningService) =>
  Effect.flatMap(askService(Schema.Array(FunctionSecret), "secrets", at, `${path}/secrets`), printSecrets)

const standardInput = Effect.tryPromise({
  try: async () => {
    const chunks: Array<Buffer> = []
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
      .toString()
      .replace(/\r?\n$/, "")
  },
  catch: (cause) => failed(`Failed to read standard input: ${reasonOfCause(cause)}`)
})

/** `svc functions secrets set`: the value is typed, or comes from standard input. Arguments are visible to others. */
export const setSecret = Effect.fnUntraced(function* ({ secret, ...at }: RunningService & { readonly secret: string }) {
  const value = yield* process.stdin.isTTY ? typedSecret(`Value of ${secret}: `) : standardInput
  const all = yield* askService(
    Schema.Array(FunctionSecret),
    "secrets",
    at,
    `${path}/secrets`,
    { [secret]: value },
    "PUT"
  )
  yield* printSecrets(all)
})

/** `svc functions secrets delete`. */
export const deleteSecret = Effect.fnUntraced(function* (given: RunningService & { readonly secret: string }) {
  const { secret, ...at } = given
  yield* callService(at, `${path}/secrets/${encodeURIComponent(secret)}`, undefined, "DELETE")
  yield* printResult(`${secret} is deleted`, { deleted: secret })
})
