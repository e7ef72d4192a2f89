/** A process that passes TCP connections on, well or badly: the network between the servers of a run. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { serve } from "../support/remote.ts"

/**
 * | state | |
 * |---|---|
 * | well | |
 * | slow | every piece of data arrives later |
 * | silent | nothing arrives, and nothing is refused, as when packets are dropped |
 * | cut | connections are reset, new ones too |
 */
export type WireState = "well" | "slow" | "silent" | "cut"

/** The delay of a slow wire in ms, and by how much it varies. */
const delay = 150
const jitter = 100

interface Wire {
  state: WireState
  readonly sockets: Set<Socket>
}

const wires: Array<Wire> = []

/** Passes data on in its order, and then the end of the connection. */
const pass = (wire: Wire, from: Socket, to: Socket) => {
  const pieces: Array<{ readonly data: Buffer; readonly at: number }> = []
  let ended = false
  let waiting = false
  const drain = () => {
    waiting = false
    for (let [next] = pieces; next !== undefined && next.at <= performance.now(); [next] = pieces) {
      pieces.shift()
      to.write(next.data)
    }
    const [next] = pieces
    if (next === undefined) {
      if (ended) to.destroy()
    } else if (!waiting) {
      waiting = true
      setTimeout(drain, Math.max(1, next.at - performance.now()))
    }
  }
  from.on("data", (data) => {
    pieces.push({ data, at: wire.state === "slow" ? performance.now() + delay + Math.random() * jitter : 0 })
    if (!waiting) drain()
  })
  from.on("error", () => undefined)
  from.on("close", () => {
    wire.sockets.delete(from)
    ended = true
    if (!waiting) drain()
  })
}

const calls = {
  /** A new wire to a port of this machine; returns its own port, and its number. */
  open: async (target: number) => {
    const wire: Wire = { state: "well", sockets: new Set() }
    const server = createServer({ noDelay: true }, (near) => {
      if (wire.state === "cut") return void near.resetAndDestroy()
      const far = connect({ port: target, host: "127.0.0.1", noDelay: true })
      for (const socket of [near, far]) {
        wire.sockets.add(socket)
        if (wire.state === "silent") socket.pause()
      }
      pass(wire, near, far)
      pass(wire, far, near)
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    return { port: (server.address() as AddressInfo).port, wire: wires.push(wire) - 1 }
  },
  set: ({ numbers, state }: { readonly numbers: ReadonlyArray<number>; readonly state: WireState }) => {
    for (const number of numbers) {
      const wire = wires[number]
      if (wire === undefined) continue
      wire.state = state
      for (const socket of wire.sockets) {
        if (state === "cut") socket.resetAndDestroy()
        else if (state === "silent") socket.pause()
        else socket.resume()
      }
    }
  }
}
export type Wires = typeof calls

if (process.send !== undefined) serve(calls)
