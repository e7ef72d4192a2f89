#!/usr/bin/env node
/**
 * The command `svc` (docs/command.md). Nothing but the settings of `.env` and the compile cache is loaded before it is known
 * what is asked for: the service is a program of its own, and so are the modules of each command.
 */
const args = process.argv.slice(2)
const oldest = 24

// An older Node can't load anything of the service.
if (Number.parseInt(process.versions.node, 10) < oldest) {
  const packaged = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
  process.stderr.write(
    `svc needs Node.js ${oldest} or newer, and this is ${process.versions.node}: install a newer one, or run svc with one of npm: npx --package=node-${packaged} --package=svc-server svc ${args.join(" ")}\n`
  )
  process.exit(1)
}

await import("../process/preload.ts")

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
