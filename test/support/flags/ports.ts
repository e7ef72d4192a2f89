import { freePort } from "../../../bench/support/freePort.ts"
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
  const ports = new Set<number>()
  while (ports.size < 3) ports.add(await freePort())
  const [FLAGS_PORT = "", FLAGS_HTTP_PORT = "", FLAGS_SYNC_PORT = ""] = [...ports].map(String)
  return { FLAGS_PORT, FLAGS_HTTP_PORT, FLAGS_SYNC_PORT }
}
