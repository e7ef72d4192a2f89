/** Connections that are slow, idle, or full of requests. */
import { setTimeout as sleep } from "node:timers/promises"
import { request } from "../client.ts"
import { type Pattern, requests } from "../pattern.ts"

const started = "GET /v1/db/probed?id=eq.1 HTTP/1.1\r\nHost: localhost\r\n"
const idle = 2_000

export const connections: ReadonlyArray<Pattern> = [
  {
    name: "slow-headers",
    title: `${idle} connections that send a header every 500 ms`,
    sockets: () => idle,
    attack: () => async (client) => {
      if (!(await client.open())) return
      client.write(started)
      for (let n = 0; client.write(`X-${n}: a\r\n`); n++) await sleep(500)
    }
  },
  {
    name: "half-open",
    title: "connections that end their side within a request, again and again",
    attack: () => async (client) => {
      if (!(await client.open())) return
      client.write(started)
      client.end()
      await client.closed
    }
  },
  {
    name: "half-requests",
    title: `${idle} connections that stop within the body of a request`,
    sockets: () => idle,
    attack:
      ({ key }) =>
      async (client) => {
        if (!(await client.open())) return
        client.write(
          `POST /v1/db/notes HTTP/1.1\r\nHost: localhost\r\napikey: ${key}\r\nContent-Length: 100000\r\n\r\n[`
        )
        await client.closed
      }
  },
  {
    name: "idle-sockets",
    title: `${idle} connections that send nothing`,
    sockets: () => idle,
    attack: () => async (client) => {
      if (await client.open()) await client.closed
    }
  },
  {
    name: "new-connections",
    title: "a connection for each request",
    attack:
      ({ key }) =>
      async (client) => {
        await client.send(request("GET", "/v1/db/probed?id=eq.1", { apikey: key, connection: "close" }))
        await client.closed
      }
  },
  {
    name: "pipelining",
    title: "1,000 requests at a time on each connection",
    attack: ({ key }) => {
      const thousand = Array.from({ length: 1000 }, (_, n) =>
        request("GET", `/v1/db/probed?id=eq.${1 + (n % 100)}`, { apikey: key })
      )
      return (client) => client.pipeline(thousand)
    }
  },
  {
    name: "head-flood",
    title: "HEAD with a filter on a row",
    attack: requests(
      ({ key }) =>
        (n) =>
          request("HEAD", `/v1/db/probed?id=eq.${1 + (n % 100)}`, { apikey: key })
    )
  },
  {
    name: "options-flood",
    title: "CORS preflights, without a key",
    attack: requests(
      () => (n) =>
        request("OPTIONS", `/v1/db/t${n}`, { origin: "https://a.example", "access-control-request-method": "POST" })
    )
  },
  {
    name: "many-headers",
    title: "45 KB of headers",
    attack: requests(({ key }) => {
      const many = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`x-${n}`, "a".repeat(20)]))
      return () => request("GET", "/v1/db/probed?id=eq.1", { apikey: key, ...many })
    })
  }
]
