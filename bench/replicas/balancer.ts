import { Agent, request } from "node:http"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../support/freePort.ts"
import { type Cluster } from "./cluster.ts"
import { Program } from "./servers/part.ts"
import { type Replica } from "./servers/replica.ts"

const checkMillis = 200
/** Longer than any response may take: a suspended replica goes on before. */
const answerMillis = 45_000

export interface Answer {
  /** Undefined if the connection broke after the request was sent. */
  readonly status: number | undefined
  readonly text: string
  readonly retryAfter: boolean
  /** Undefined if it comes from the load balancer itself. */
  readonly replica: Replica | undefined
  readonly error: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 96 })

/** A request to an address. Never rejects. */
export const ask = (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  replicaOf: (name: string) => Replica | undefined
) =>
  new Promise<Answer>((done) => {
    const failed = (error: Error & { readonly code?: string }) =>
      done({
        status: undefined,
        text: "",
        retryAfter: false,
        replica: replicaOf(""),
        error: error.code ?? error.message
      })
    const type = body === undefined ? {} : { "content-type": "application/json" }
    const outgoing = request(url, { method, agent, headers: { ...type, ...headers } }, (response) => {
      let text = ""
      const { "retry-after": retryAfter, "x-balanced-to": name = "" } = response.headers
      const replica = replicaOf(String(name))
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.once("error", failed)
      response.once("end", () =>
        done({ status: response.statusCode, text, retryAfter: retryAfter !== undefined, replica, error: "" })
      )
    })
    outgoing.setTimeout(answerMillis, () => outgoing.destroy(new Error("no response")))
    outgoing.once("error", failed).end(body === undefined ? undefined : JSON.stringify(body))
  })

/** Distributes requests over the replicas that are ready, and gives one that no replica has accepted to another. */
export interface Balancer extends AsyncDisposable {
  /** Where a client of /realtime connects; undefined while no replica is ready. */
  readonly next: () => string | undefined
  /** Undefined if no replica has got the request, because none is ready. */
  readonly send: (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown
  ) => Promise<Answer | undefined>
}

/** The replicas are asked whether they are ready, by the rig too. */
const watch = (replicas: ReadonlyArray<Replica>) => {
  const timers = replicas.map((replica) => setInterval(() => void replica.check(), checkMillis))
  return () => timers.forEach(clearInterval)
}

/** A load balancer within this process. */
export const makeBalancer = ({ replicas }: Pick<Cluster, "replicas">): Balancer => {
  const stop = watch(replicas)
  let turn = 0
  const next = () => {
    const ready = replicas.filter(({ ready }) => ready)
    return ready[turn++ % ready.length]
  }
  return {
    next: () => next()?.url,
    send: async (method, path, headers, body) => {
      for (;;) {
        const replica = next()
        if (replica === undefined) return undefined
        const answer = await ask(replica.url + path, method, headers, body, () => replica)
        if (answer.error !== "ECONNREFUSED") return answer
        replica.ready = false
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(stop())
  }
}

const configuration = (port: number, replicas: ReadonlyArray<Replica>) => `
global
  maxconn 4096
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server ${answerMillis - 5_000}ms
  timeout tunnel 1h
  timeout check 1s
  retries 3
  option redispatch 1
  retry-on conn-failure
frontend api
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  http-response set-header x-balanced-to %s
  default-server check inter ${checkMillis}ms fall 1 rise 1
${replicas.map((replica, n) => `  server r${n} 127.0.0.1:${replica.port} port ${replica.operationsPort}`).join("\n")}
`

/** HAProxy, as an operator would configure it; undefined where it is not installed. */
export const startHaproxy = async (cluster: Cluster): Promise<Balancer | undefined> => {
  const { replicas } = cluster
  const dir = await mkdtemp(join(tmpdir(), "svc-haproxy-"))
  const port = await freePort()
  const file = join(dir, "haproxy.cfg")
  await writeFile(file, configuration(port, replicas))
  const url = `http://127.0.0.1:${port}`
  const program = new Program(["haproxy", "-db", "-f", file], {}, async () => {
    if (program.output.includes("ENOENT")) return true
    const answer = await fetch(`${url}/healthz`).catch(() => undefined)
    await answer?.arrayBuffer()
    return answer?.status === 200
  })
  await program.start()
  const stop = watch(replicas)
  const dispose = async () => {
    stop()
    await program.kill()
    await rm(dir, { recursive: true, force: true })
  }
  if (program.output.includes("ENOENT")) {
    stop()
    await rm(dir, { recursive: true, force: true })
    return undefined
  }
  return {
    next: () => url,
    send: async (method, path, headers, body) => {
      const named = (name: string) => replicas[Number(name.slice(1) || "-1")]
      const answer = await ask(url + path, method, headers, body, named)
      // No replica was ready, or accepted the connection.
      return answer.replica === undefined && answer.status === 503 ? undefined : answer
    },
    [Symbol.asyncDispose]: dispose
  }
}
