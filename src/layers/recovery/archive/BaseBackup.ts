import { Clock, Effect } from "effect"
import { randomBytes } from "node:crypto"
import {
  baseFile,
  baseFolder,
  baseIdOf,
  beganAt,
  manifestFile,
  partBytes,
  partFile,
  type BaseBackup
} from "../../../domain/recovery/Archive.ts"
import { internalsOf } from "../../postgres/client/Client.ts"
import { type Login } from "../../postgres/Login.ts"
import { connectToCluster } from "../../postgres/log/Session.ts"
import { type Archive } from "../store/Archive.ts"
import { ArchiveTrouble } from "../store/Store.ts"
import { type AskCluster } from "./AskCluster.ts"

/** What the server sends in a base backup (PostgreSQL documentation, 54.4, BASE_BACKUP). */
type Message =
  | { readonly _tag: "Volume"; readonly name: string; readonly location: string | null }
  | { readonly _tag: "Manifest" }
  | { readonly _tag: "Bytes"; readonly bytes: Buffer }

/** Bytes that wait for the archive before nothing more is received. */
const maxWaiting = 4 * partBytes

const cString = (bytes: Buffer, from: number): readonly [string, number] => {
  const end = bytes.indexOf(0, from)
  return [bytes.toString("utf8", from, end), end + 1]
}

const decode = (chunk: Buffer): Message | undefined => {
  if (chunk[0] === 0x64) return { _tag: "Bytes", bytes: chunk.subarray(1) }
  if (chunk[0] === 0x6d) return { _tag: "Manifest" }
  if (chunk[0] !== 0x6e) return undefined // a report of progress
  const [name, next] = cString(chunk, 1)
  const [location] = cString(chunk, next)
  return { _tag: "Volume", name: name.replace(/\.tar$/, ""), location: location === "" ? null : location }
}

interface Result {
  readonly rows: ReadonlyArray<{ readonly recptr?: string; readonly tli?: string | number }>
}

/** The server's clock, its version, and the settings in which a server that recovers must not be lower. */
const serverSql = `select (extract(epoch from clock_timestamp()) * 1000)::int8::text as now,
    current_setting('server_version') as version,
    (select json_object_agg(name, setting) from pg_settings where name in ('max_connections', 'max_worker_processes',
       'max_wal_senders', 'max_prepared_transactions', 'max_locks_per_transaction'))::text as settings`
const timeOf = (row: Readonly<Record<string, unknown>>) => new Date(Number(row["now"])).toISOString()

/**
 * Copies the cluster into the archive, while it serves. It can be used once the log up to its end is archived, too.
 *
 * @param fast whether to write a checkpoint at once instead of waiting for the next one
 */
export const makeBaseBackup = Effect.fnUntraced(function* (
  login: Login,
  ask: AskCluster,
  archive: Archive,
  fast: boolean
) {
  const client = yield* connectToCluster(login)
  const before = yield* ask(serverSql)
  const { settings, version } = before
  const started_at = timeOf(before)
  const id = `${started_at.replaceAll(/[-:]|\.\d+/g, "")}-${randomBytes(3).toString("hex")}`

  const { connection } = internalsOf(client)
  const queue: Array<Message> = []
  let [waiting, ended] = [0, false]
  let failure: unknown
  let wake: (() => void) | undefined
  connection.on("copyData", ({ chunk }: { readonly chunk: Buffer }) => {
    // The chunk is a part of a buffer that the parser uses again.
    const message = decode(Buffer.from(chunk))
    if (message === undefined) return
    queue.push(message)
    if (message._tag === "Bytes" && (waiting += message.bytes.length) > maxWaiting) connection.stream.pause()
    wake?.()
  })
  const answer = client
    .query(
      `BASE_BACKUP (LABEL 'svc', CHECKPOINT '${fast ? "fast" : "spread"}', WAL false, WAIT false, MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256')`
    )
    .then((result) => result as unknown as Result | ReadonlyArray<Result>)
  void answer
    .catch((cause: unknown) => {
      failure = cause
    })
    .finally(() => {
      ended = true
      wake?.()
    })

  const take = Effect.callback<Message | undefined, ArchiveTrouble>((resume) => {
    const give = () => {
      const message = queue.shift()
      if (message === undefined && !ended) return
      wake = undefined
      if (message?._tag === "Bytes" && (waiting -= message.bytes.length) <= maxWaiting) connection.stream.resume()
      if (message !== undefined || failure === undefined) return resume(Effect.succeed(message))
      const reason = failure instanceof Error ? failure.message : String(failure)
      return resume(Effect.fail(new ArchiveTrouble({ reason: `The base backup failed: ${reason}` })))
    }
    wake = give
    give()
    return Effect.sync(() => (wake = undefined))
  })

  const volumes: Array<{ name: string; location: string | null; parts: number; bytes: number }> = []
  let [stored, manifest] = [0, false]
  let part: Array<Buffer> = []
  let size = 0
  const flush = Effect.gen(function* () {
    const volume = volumes.at(-1)
    if (size === 0 || volume === undefined) return
    const content = Buffer.concat(part)
    part = []
    size = 0
    if (manifest) return void (stored += yield* archive.put(manifestFile(id), content))
    volume.parts++
    volume.bytes += content.length
    stored += yield* archive.put(partFile(id, volume.name, volume.parts), content)
  })
  for (let message = yield* take; message !== undefined; message = yield* take) {
    if (message._tag === "Bytes") {
      part.push(message.bytes)
      size += message.bytes.length
      if (size >= partBytes && !manifest) yield* flush
      continue
    }
    yield* flush
    if (message._tag === "Manifest") manifest = true
    else volumes.push({ name: message.name, location: message.location, parts: 0, bytes: 0 })
  }
  yield* flush
  const answers = yield* Effect.tryPromise({
    try: () => answer,
    catch: (cause) => new ArchiveTrouble({ reason: `The base backup failed: ${String(cause)}` })
  })
  const results = "rows" in answers ? [answers] : answers
  const positions = results.flatMap(({ rows }) => rows.filter(({ recptr }) => recptr !== undefined))
  const [start, end] = [positions[0], positions.at(-1)]
  if (!manifest || start?.recptr === undefined || end?.recptr === undefined || positions.length < 2) {
    return yield* new ArchiveTrouble({ reason: "The base backup is incomplete: the server sent no end of it" })
  }
  const base: BaseBackup = {
    id,
    timeline: Number(start.tli),
    start: start.recptr,
    end: end.recptr,
    started_at,
    ended_at: timeOf(yield* ask(serverSql)),
    volumes,
    bytes: volumes.reduce((sum, { bytes }) => sum + bytes, 0),
    stored_bytes: stored,
    settings: JSON.parse(String(settings)) as Record<string, string>,
    server_version: String(version)
  }
  yield* archive.put(baseFile(id), Buffer.from(JSON.stringify(base)))
  return base
}, Effect.scoped)

/** Longer than any base backup takes. */
const incompleteMillis = 86_400_000

/** Removes the objects of base backups that were interrupted long ago; another process may be making a newer one. */
export const removeIncompleteBases = Effect.fnUntraced(function* (archive: Archive) {
  const complete = new Set((yield* archive.bases).map(({ id }) => id))
  const before = (yield* Clock.currentTimeMillis) - incompleteMillis
  const ids = new Set((yield* archive.list(baseFolder)).flatMap((name) => baseIdOf(name) ?? []))
  for (const id of ids) if (!complete.has(id) && beganAt(id) < before) yield* archive.removeBase(id)
})
