import { randomBytes } from "node:crypto"
import { mkdir } from "node:fs/promises"
import { connect } from "node:net"
import { join } from "node:path"
import { freePort } from "../../support/freePort.ts"
import { type Part, Program } from "./part.ts"

/** An S3 store; `part` is undefined if it is not this run's own. */
export interface Store {
  readonly port: number
  readonly accessKey: string
  readonly secretKey: string
  readonly part: (Part & { readonly end: (name: NodeJS.Signals) => Promise<unknown> }) | undefined
}

const accepts = (port: number) =>
  new Promise<boolean>((done) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => (socket.destroy(), done(true)))
    socket.once("error", () => done(false))
  })

/**
 * The store of a run: that of S3_TEST_ENDPOINT, with S3_TEST_ACCESS_KEY and S3_TEST_SECRET_KEY, on this machine; or what
 * `command` starts, in which `{port}` and `{dir}` stand for an address and a directory, and which finds its owner's
 * credentials in ROOT_ACCESS_KEY and ROOT_SECRET_KEY; else the embedded store in a process of its own.
 */
export const startStore = async (directory: string, command: string | undefined): Promise<Store> => {
  const given = process.env["S3_TEST_ENDPOINT"]
  if (given !== undefined && command === undefined)
    return {
      port: Number(new URL(given).port),
      accessKey: process.env["S3_TEST_ACCESS_KEY"] ?? "",
      secretKey: process.env["S3_TEST_SECRET_KEY"] ?? "",
      part: undefined
    }
  const port = await freePort()
  const objects = join(directory, "objects")
  await mkdir(objects, { recursive: true })
  if (command === undefined) {
    const file = join(import.meta.dirname, "../storeProcess.ts")
    const part = new Program([process.execPath, file, directory], { S3_EMBEDDED_PORT: String(port) }, () =>
      accepts(port)
    )
    await part.start()
    while (!part.output.includes("\n")) await new Promise((soon) => setTimeout(soon, 20))
    const line = part.output.split("\n").find((text) => text.startsWith("{")) ?? "{}"
    return { port, part, ...(JSON.parse(line) as { readonly accessKey: string; readonly secretKey: string }) }
  }
  const [accessKey, secretKey] = [randomBytes(10).toString("hex"), randomBytes(20).toString("hex")]
  const words = command.split(/\s+/).map((word) => word.replace("{port}", String(port)).replace("{dir}", objects))
  const env = { ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey }
  const part = new Program(words, env, () => accepts(port))
  await part.start()
  return { port, accessKey, secretKey, part }
}
