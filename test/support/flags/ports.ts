import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { type Service } from "../service.ts"

/** The flag ports that a service has logged. */
export const flagPorts = (service: Pick<Service, "output">) => {
  const match = /Flags: evaluation on ([\d.]+):(\d+), OFREP on [\d.]+:(\d+), sync on [\d.]+:(\d+)/.exec(
    service.output()
  )
  const [, host = "", evaluation, ofrep, sync] = match ?? []
  return { host, evaluation: Number(evaluation), ofrep: Number(ofrep), sync: Number(sync) }
}

/** Settings of free flag ports, so that a service can be restarted on the same ones. */
export const freeFlagPorts = async () => {
  const ports: Array<string> = []
  const servers = [createServer(), createServer(), createServer()]
  for (const server of servers) {
    await once(server.listen(0, "127.0.0.1"), "listening")
    ports.push(String((server.address() as AddressInfo).port))
  }
  for (const server of servers) server.close()
  const [FLAGS_PORT = "", FLAGS_HTTP_PORT = "", FLAGS_SYNC_PORT = ""] = ports
  return { FLAGS_PORT, FLAGS_HTTP_PORT, FLAGS_SYNC_PORT }
}
