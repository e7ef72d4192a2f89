import { createClient } from "@connectrpc/connect"
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { type FlagDefinition, type FlagContext, type FlagResult } from "../../../src/domain/flags/Evaluation.ts"
import { type FlagEnvironment, flagEnvironments } from "../../../src/domain/flags/Environment.ts"
import { CompiledFlag, FlagSet } from "../../../src/domain/flags/sets/Set.ts"
import { FlagSyncService } from "../../../src/layers/flags/gen/flagd/sync/v1/sync_pb.ts"

/** A failure in place of a response: another response, no response, or a closed connection. */
export type Failure =
  | { readonly status: number; readonly type: string; readonly body: string | Buffer; readonly length?: number }
  | "hang"
  | "reset"

/** A flagd with three sources, one for each environment, that serves the flags of the sync port over OFREP. */
export interface Flagd extends AsyncDisposable {
  /** The port of OFREP on 127.0.0.1. */
  readonly port: number
  /** Requested paths, in order. */
  readonly requests: Array<string>
  /** The failure for a path; undefined for a normal response. */
  failWith: (path: string) => Failure | undefined
  /** Whether it ignores new flags. */
  ignoresSync: boolean
}

export interface FlagdOptions {
  /** The sync port of the service on 127.0.0.1. */
  readonly syncPort: number
  /** 0, the default, selects a free one. */
  readonly port?: number
  /** Pause before a stream is reopened, in ms; the real flagd waits 4 s and longer. */
  readonly reconnectMillis?: number
}

type Sets = Map<FlagEnvironment, FlagSet>

export const startFlagd = async ({ port = 0, reconnectMillis = 50, syncPort }: FlagdOptions): Promise<Flagd> => {
  const sets: Sets = new Map()
  const held = new Map<FlagEnvironment, string>()
  const ending = new AbortController()
  let ignoresSync = false

  const take = (environment: FlagEnvironment, document: string) => {
    if (ignoresSync) held.set(environment, document)
    else sets.set(environment, setOf(environment, document))
  }
  const following = flagEnvironments.map((environment) =>
    follow(syncPort, environment, ending.signal, reconnectMillis, (document) => take(environment, document))
  )

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const path = request.url ?? ""
    flagd.requests.push(path)
    const failure = flagd.failWith(path)
    if (failure === undefined) void answer(sets, request, response)
    else failWith(failure, request, response)
  })
  await new Promise<void>((done, failed) => {
    server.once("error", failed)
    server.listen(port, "127.0.0.1", done)
  })

  const flagd: Flagd = {
    port: (server.address() as AddressInfo).port,
    requests: [],
    failWith: () => undefined,
    get ignoresSync() {
      return ignoresSync
    },
    set ignoresSync(value) {
      ignoresSync = value
      if (ignoresSync) return
      for (const [environment, document] of held) take(environment, document)
      held.clear()
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort()
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections()
      await Promise.all([closed, ...following])
    }
  }
  return flagd
}

const follow = async (
  syncPort: number,
  environment: FlagEnvironment,
  signal: AbortSignal,
  reconnectMillis: number,
  take: (document: string) => void
) => {
  const baseUrl = `http://127.0.0.1:${syncPort}`
  const sessionManager = new Http2SessionManager(baseUrl)
  const client = createClient(FlagSyncService, createGrpcTransport({ baseUrl, sessionManager }))
  while (!signal.aborted) {
    try {
      const headers = { "flagd-selector": `flagSetId=${environment}` }
      for await (const { flagConfiguration } of client.syncFlags({ providerId: "fake" }, { headers, signal })) {
        take(flagConfiguration)
      }
    } catch {
      // As flagd does: keeps its flags and retries.
    }
    await sleep(reconnectMillis, undefined, { signal }).catch(() => undefined)
  }
  sessionManager.abort()
}

interface Document {
  readonly flags: Readonly<Record<string, Omit<FlagDefinition, "key">>>
  readonly metadata: { readonly flagSetId: string; readonly version: string }
}

const setOf = (environment: FlagEnvironment, text: string) => {
  const { flags, metadata } = JSON.parse(text) as Document
  if (metadata.flagSetId !== environment) throw new Error(`${environment} was sent ${metadata.flagSetId}`)
  const compiled = Object.entries(flags).map(
    ([key, definition]) => [key, new CompiledFlag({ key, ...definition }, "v2")] as const
  )
  return new FlagSet(environment, Number(metadata.version), new Map(compiled))
}

const bodyOf = async (request: IncomingMessage) => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

const answer = async (sets: Sets, request: IncomingMessage, response: ServerResponse) => {
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }
  const [, key] = /^\/ofrep\/v1\/evaluate\/flags(?:\/([^/?]*))?$/.exec(request.url ?? "") ?? [undefined, null]
  if (key === null) {
    response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("404 page not found\n")
    return
  }
  const body = await bodyOf(request)
  if (body.length > 1_000_000) return send(413, { errorDetails: "request body too large" })
  const { context } = JSON.parse(body.toString()) as { readonly context: FlagContext }
  const selector = String(request.headers["flagd-selector"] ?? "")
  const flagSetId = selector.replace(/^flagSetId=/, "")
  const set = sets.get(flagSetId as FlagEnvironment) ?? new FlagSet("production", 0, new Map())
  if (key === undefined || key === "") {
    const flags = set.evaluateAll(context, Date.now()).map((result) => wire(result, { flagSetId }).body)
    return send(200, { flags, metadata: { flagSetId } })
  }
  const { body: flag, status } = wire(set.evaluate(decodeURIComponent(key), context, Date.now()), { flagSetId })
  return send(status, flag)
}

/** The response of flagd. The metadata of a missing flag has only the selector. */
const wire = (result: FlagResult, selected: object) => {
  const { key, metadata, reason } = result
  if (reason !== "ERROR") {
    const { value, variant } = result
    return { status: 200, body: { value, key, reason, variant, metadata } }
  }
  const { errorCode } = result
  if (errorCode === "FLAG_NOT_FOUND") {
    const errorDetails = `flag \`${key}\` does not exist`
    return { status: 404, body: { key, errorCode, errorDetails, metadata: selected } }
  }
  const errorDetails =
    errorCode === "PARSE_ERROR" ? `error parsing the flag \`${key}\`` : "error processing the flag for evaluation"
  return { status: 400, body: { key, errorCode, errorDetails, metadata } }
}

const failWith = (failure: Failure, request: IncomingMessage, response: ServerResponse) => {
  request.resume()
  if (failure === "hang") return
  if (failure === "reset") return void request.socket.destroy()
  const { body, length, status, type } = failure
  response.writeHead(status, { "content-type": type, ...(length === undefined ? {} : { "content-length": length }) })
  // The connection closes before the announced body is sent.
  if (length === undefined) response.end(body)
  else response.write(body, () => setTimeout(() => request.socket.destroy(), 20))
}
