#!/usr/bin/env node
/**
 * The command `svc` (docs/command.md). Nothing but the settings of `.env` and the compile cache is loaded before it is known
 * what is asked for: the service is a program of its own, and so are the modules of each command.
 */
await import("../process/preload.ts")

const args = process.argv.slice(2)

if (args.length === 1 && args[0] === "start") {
  const { startService } = await import("./Start.ts")
  await startService()
} else {
  const { runCommand } = await import("./Run.ts")
  // What follows is psql's own, except that psql has no --help of ours.
  const [name, ...rest] = args
  const isHelp = rest.length === 1 && rest[0] === "--help"
  runCommand(name === "psql" && !isHelp ? ["psql", "--", ...(rest[0] === "--" ? rest.slice(1) : rest)] : args)
}
