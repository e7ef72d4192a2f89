import { createServer, request as requestHttp, type Server } from "node:http"

/** The host by which Boot.ts requests this service's API. */
const placeholder = "http://svc.invalid"

/**
 * Serves the API on a socket of functions: they may not connect to addresses of this machine, where its port usually is.
 * Requests come as to a proxy, with the whole URL.
 */
export const serveOwnApi = (host: string, port: number, publicHost: string): Server =>
  createServer((incoming, outgoing) => {
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
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    upstream.on("error", () => {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    outgoing.on("close", () => upstream.destroy())
    incoming.pipe(upstream)
  })
