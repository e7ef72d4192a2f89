/**
 * The baseline of node:http on this machine: a bare server that returns one fixed response to every request.
 * `node bench/rows/baseline.ts <JSON of Answer>` prints its port and runs until it is killed.
 */
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

if (import.meta.main) {
  const { body, headers, status }: Answer = JSON.parse(process.argv[2] ?? "{}")
  const bytes = Buffer.from(body)
  const server = createServer((request, response) => {
    const answer = () => {
      response.writeHead(status, headers)
      response.end(bytes)
    }
    if (request.method === "GET") return answer()
    request.on("end", answer)
    return request.resume()
  })
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port))
}
