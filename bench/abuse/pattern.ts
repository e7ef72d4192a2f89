/** What an abusive client does. */
import { type Client, request, type Request } from "./client.ts"
import { type Fixture } from "./database.ts"

/** The ports that clients reach: of the API, of OFREP, gRPC and flag sync without a key, and of S3. */
export const servers = ["api", "ofrep", "flags", "sync", "s3"] as const
export type Server = (typeof servers)[number]

export interface Target {
  readonly ports: Readonly<Record<Server, number>>
  /** An anon key. */
  readonly key: string
  /** The S3 access key's id, which every presigned URL contains; never its secret. */
  readonly accessKeyId: string
}

/** One turn of one connection, repeated until the time is over. `n` counts the turns of all connections from 0. */
export type Turn = (client: Client, n: number) => Promise<unknown>

export interface Pattern {
  readonly name: string
  readonly title: string
  /** Where it connects to; default: the API. */
  readonly server?: Server
  /** What must exist, apart from the tables of every run. */
  readonly needs?: ReadonlyArray<Fixture>
  /** Its number of connections, given that of most patterns. */
  readonly sockets?: (usual: number) => number
  readonly attack: (target: Target) => Turn
}

export const json = { "content-type": "application/json" }
export const csv = { "content-type": "text/csv" }

/** An attack by whole requests, one after the other on each connection. */
export const requests =
  (make: (target: Target) => (n: number) => Request): Pattern["attack"] =>
  (target) => {
    const next = make(target)
    return (client, n) => client.send(next(n))
  }

/** An attack by reads of paths with the anon key. */
export const reads = (path: (n: number) => string, headers: (n: number) => Record<string, string> = () => ({})) =>
  requests(
    ({ key }) =>
      (n) =>
        request("GET", path(n), { apikey: key, ...headers(n) })
  )

/** An attack by one body, with the anon key. */
export const posts = (path: string, headers: Readonly<Record<string, string>>, body: () => string | Uint8Array) =>
  requests(({ key }) => {
    const bytes = Buffer.from(body())
    return () => request("POST", path, { apikey: key, ...headers }, bytes)
  })

/** `count` parts, joined by commas. */
export const list = (count: number, part: (n: number) => string | number) =>
  Array.from({ length: count }, (_, n) => part(n)).join()
