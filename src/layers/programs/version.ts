import { Effect } from "effect"
import { version } from "../../services/Status.ts"
import { printResult } from "../process/Output.ts"

/** `svc version`. */
export const printVersion = () => {
  const versions = { version, node: process.versions.node, platform: `${process.platform}-${process.arch}` }
  return Effect.asVoid(printResult(`svc ${version}\nNode ${versions.node}, ${versions.platform}`, versions))
}
