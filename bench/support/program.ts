import { parseArgs } from "node:util"
import { defaultEntry, type Service, type ServiceOptions, withService } from "./service.ts"

export interface Program {
  readonly help: string
  /** The letters of `--only`, one per part. */
  readonly parts: string
  readonly service: Pick<ServiceOptions, "setup" | "env">
  /** Measures the parts that `wants` selects; returns the exit code. */
  readonly run: (service: Service, wants: (part: string) => boolean, quick: boolean) => Promise<number>
}

/** A bench in parts, with its own service: `--only`, `--quick`, `--cpu-prof`, `--entry`, `--help`. */
export const runProgram = async ({ help, parts, run, service }: Program) => {
  const options = {
    only: { type: "string", default: [...parts].join(",") },
    quick: { type: "boolean", default: false },
    "cpu-prof": { type: "boolean", default: false },
    entry: { type: "string", default: defaultEntry },
    help: { type: "boolean", default: false }
  } as const
  try {
    const values = parseArgs({ options }).values
    const chosen = values.only.split(",")
    if (values.help || chosen.some((part) => part.length !== 1 || !parts.includes(part))) {
      console.log(help)
      process.exitCode = values.help ? 0 : 1
      return
    }
    process.exitCode = await withService({ ...service, entry: values.entry, profile: values["cpu-prof"] }, (service) =>
      run(service, (part) => chosen.includes(part), values.quick)
    )
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
