import { FlagdProvider } from "@openfeature/flagd-provider"
import { FlagdWebProvider } from "@openfeature/flagd-web-provider"
import { OFREPProvider } from "@openfeature/ofrep-provider"
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider"
import { OpenFeature } from "@openfeature/server-sdk"
import { OpenFeature as WebOpenFeature, type Provider as WebProvider } from "@openfeature/web-sdk"
import { flagPorts } from "./ports.ts"
import { type Service } from "../service.ts"

type Served = Pick<Service, "url" | "anon" | "output">

const flagd = (service: Served, resolverType: "rpc" | "in-process", options: object = {}) => {
  const { evaluation, sync } = flagPorts(service)
  const port = resolverType === "rpc" ? evaluation : sync
  return new FlagdProvider({ host: "127.0.0.1", port, resolverType, deadlineMs: 3_000, ...options })
}

const providers = {
  "flagd by RPC": (service: Served) => flagd(service, "rpc", { cache: "disabled" }),
  "flagd by RPC, with its cache": (service: Served) => flagd(service, "rpc"),
  "flagd in process": (service: Served) => flagd(service, "in-process"),
  "flagd by RPC, of dev": (service: Served) => flagd(service, "rpc", { selector: "flagSetId=dev" }),
  "flagd in process, of dev": (service: Served) => flagd(service, "in-process", { selector: "dev" }),
  "OFREP on its port": (service: Served) =>
    new OFREPProvider({ baseUrl: `http://127.0.0.1:${flagPorts(service).ofrep}` }),
  "OFREP with a key": ({ anon, url }: Served) =>
    new OFREPProvider({ baseUrl: url, headers: [["authorization", `Bearer ${anon}`]] })
} as const
type Name = keyof typeof providers

/** The providers for the default environment. */
export const providerNames = (Object.keys(providers) as ReadonlyArray<Name>).filter((name) => !name.includes("dev"))

let domains = 0

/** A client of the server SDK with its own provider, once it is ready. */
export const clientOf = async (service: Served, name: Name) => {
  const domain = `${name} ${domains++}`
  await OpenFeature.setProviderAndWait(domain, providers[name](service))
  return OpenFeature.getClient(domain)
}

const webProviders = {
  "flagd for the web": (service: Served) =>
    new FlagdWebProvider({ host: "127.0.0.1", port: flagPorts(service).evaluation, tls: false, maxDelay: 200 }),
  "OFREP for the web": ({ anon, url }: Served) =>
    new OFREPWebProvider({ baseUrl: url, headers: [["x-api-key", anon]], pollInterval: 50, cacheMode: "disabled" })
} as const
type WebName = keyof typeof webProviders
export const webProviderNames = Object.keys(webProviders) as ReadonlyArray<WebName>

/** Only one at a time, because the flagd provider reads the global context. */
export const webClientOf = async (service: Served, name: WebName) => {
  await WebOpenFeature.setProviderAndWait(webProviders[name](service) as WebProvider, {})
  return WebOpenFeature.getClient()
}

export const closeClients = async () => {
  await OpenFeature.close()
  await WebOpenFeature.close()
}
