import { Agent, type IncomingHttpHeaders, request } from "node:http"

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Question {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The client closes its socket after this many ms, unless the answer came before. */
  readonly hangUpAfter?: number | undefined
}

/** Sends requests over kept connections. Resolves with undefined if the client hung up. */
export const makeClient = (url: string) => {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(url)
  const send = ({ body, hangUpAfter, headers, method, path }: Question): Promise<Answer | undefined> =>
    new Promise((done, failed) => {
      const content = body === undefined ? {} : { "content-type": "application/json" }
      const options = { agent, hostname, port, method, path, headers: { ...headers, ...content }, timeout: 30_000 }
      const sent = request(options, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => (text += part))
        response.once("end", () => {
          clearTimeout(timer)
          done({ status: response.statusCode ?? 0, headers: response.headers, text })
        })
        response.once("error", ended)
      })
      const ended = (error: Error) => (hungUp ? done(undefined) : failed(error))
      let hungUp = false
      const hangUp = () => {
        hungUp = true
        sent.destroy()
      }
      const timer = hangUpAfter === undefined ? undefined : setTimeout(hangUp, hangUpAfter)
      sent.once("error", ended)
      sent.once("close", () => hungUp && done(undefined))
      sent.once("timeout", () => sent.destroy(new Error(`No answer within 30 s: ${method} ${path}`)))
      sent.end(body)
    })
  return { send, close: () => agent.destroy() }
}
