import { Effect } from "effect"
import { commit, version } from "../../domain/Version.ts"
import { printResult } from "../process/Output.ts"

/** `svc version`. */
export const printVersion = () => {
  const versions = { version, commit, node: process.versions.node, platform: `${process.platform}-${process.arch}` }
  return Effect.asVoid(
    printResult(`svc ${version} (commit ${commit})\nNode ${versions.node}, ${versions.platform}`, versions)
  )
}
