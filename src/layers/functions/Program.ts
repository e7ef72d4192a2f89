import { spawnSync } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, dirname, join } from "node:path"

/** The packages that hold Deno's program, by platform: dependencies of the npm package `deno`. */
const packages: Readonly<Record<string, string>> = {
  "linux-x64": "@deno/linux-x64-glibc",
  "linux-arm64": "@deno/linux-arm64-glibc",
  "darwin-x64": "@deno/darwin-x64",
  "darwin-arm64": "@deno/darwin-arm64"
}

const isProgram = (path: string) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Where a package is, for the service and for the directory that it is started in. */
const packageDirectories = (name: string) =>
  [import.meta.url, join(process.cwd(), "package.json")].flatMap((from) => {
    try {
      return [dirname(createRequire(from).resolve(`${name}/package.json`))]
    } catch {
      return []
    }
  })

/** The program of Deno: the given one, else that of the npm package `deno`, else one in PATH. */
export const findDeno = (given: string | undefined): string | undefined => {
  if (given !== undefined) return isProgram(given) ? given : undefined
  const name = packages[`${process.platform}-${process.arch}`]
  const inPackage = name === undefined ? [] : packageDirectories(name).map((directory) => join(directory, "deno"))
  const inPath = (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, "deno"))
  return [...inPackage, ...inPath].find(isProgram)
}

/** The path of a program of the system; undefined if it is not installed, and on other systems than Linux. */
const ofSystem = (name: string): string | undefined =>
  process.platform === "linux"
    ? [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin", "/bin"]
        .map((directory) => join(directory, name))
        .find(isProgram)
    : undefined

/** Sets limits for another program. */
export const prlimit = ofSystem("prlimit")

const findEnding = (): ReadonlyArray<string> => {
  const setpriv = ofSystem("setpriv")
  const args = ["--pdeathsig", "KILL", "--"]
  if (setpriv === undefined || spawnSync(setpriv, [...args, setpriv, "--version"]).status !== 0) return []
  return [setpriv, ...args]
}
let ending: ReadonlyArray<string> | undefined

/** Has another program end with this process, even when this one is killed. That of BusyBox can't. */
export const endingWithThis = (): ReadonlyArray<string> => (ending ??= findEnding())
