import { createServer, request as requestHttp, type Server } from "node:http"

/**
 * The host by which Boot.ts requests this service's API: an address of no machine (RFC 3849), because Deno would look up a
 * name with each connection.
 */
export const placeholderHost = "[2001:db8::1]"
const placeholder = `http://${placeholderHost}`

/**
 * Serves the API on a socket of functions: they may not connect to addresses of this machine, where its port usually is.
 * Requests come as to a proxy, with the whole URL.
 */
export const serveOwnApi = (host: string, port: number, publicHost: string): Server => {
  // Deno ends connections that it no longer uses: one that ended here at that moment would lose a request.
  const server = createServer({ keepAliveTimeout: 0 })
  return server.on("request", (incoming, outgoing) => {
    const { headers, method, url = "" } = incoming
    if (!url.startsWith(`${placeholder}/`)) {
      outgoing.writeHead(404).end()
      return
    }
    const upstream = requestHttp({
      host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host,
      port,
      method,
      path: url.slice(placeholder.length),
      headers: { ...headers, host: publicHost },
      agent: false
    })
    upstream.on("response", (response) => {
      // The connection to this service is not that to Deno.
      const { connection: _, "keep-alive": __, ...passed } = response.headers
      outgoing.writeHead(response.statusCode ?? 502, passed)
      response.pipe(outgoing)
    })
    upstream.on("error", () => {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    outgoing.on("close", () => upstream.destroy())
    incoming.pipe(upstream)
  })
}
