import { Agent, request } from "node:http"
import { type Cluster, type Replica } from "./cluster.ts"

const checkMillis = 200
/** Longer than any response may take: a suspended replica goes on before. */
const answerMillis = 45_000

export interface Answer {
  /** Undefined if the connection broke after the request was sent. */
  readonly status: number | undefined
  readonly text: string
  readonly replica: Replica
  readonly error: string
}

/** Sends each request to one of the replicas that are ready, in turn, on kept connections. */
export class Balancer {
  private readonly replicas: ReadonlyArray<Replica>
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 })
  private readonly timers: ReadonlyArray<NodeJS.Timeout>
  private turn = 0

  constructor({ replicas }: Pick<Cluster, "replicas">) {
    this.replicas = replicas
    this.timers = replicas.map((replica) => setInterval(() => void replica.check(), checkMillis))
  }

  next(): Replica | undefined {
    const ready = this.replicas.filter((replica) => replica.ready)
    return ready[this.turn++ % ready.length]
  }

  /** Undefined while no replica is ready. Only a request that no replica has accepted is sent to another. */
  async send(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown
  ): Promise<Answer | undefined> {
    for (;;) {
      const replica = this.next()
      if (replica === undefined) return undefined
      const answer = await this.ask(replica, method, path, headers, body)
      if (answer.error !== "ECONNREFUSED") return answer
      replica.ready = false
    }
  }

  private ask(replica: Replica, method: string, path: string, headers: Record<string, string>, body: unknown) {
    return new Promise<Answer>((done) => {
      const failed = (error: Error & { readonly code?: string }) =>
        done({ status: undefined, text: "", replica, error: error.code ?? error.message })
      const type = body === undefined ? {} : { "content-type": "application/json" }
      const options = { method, agent: this.agent, headers: { ...type, ...headers } }
      const outgoing = request(replica.url + path, options, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => (text += part))
        response.once("error", failed)
        response.once("end", () => done({ status: response.statusCode, text, replica, error: "" }))
      })
      outgoing.setTimeout(answerMillis, () => outgoing.destroy(new Error("no response")))
      outgoing.once("error", failed).end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  close() {
    for (const timer of this.timers) clearInterval(timer)
    this.agent.destroy()
  }
}
