import { execFile } from "node:child_process"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "vitest"

const root = resolve(import.meta.dirname, "../..")

/** Prints the packages that importing the service loads. */
const program = `
  import { registerHooks } from "node:module"
  const packages = new Set()
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(resolved.url) ?? []
      if (name !== undefined) packages.add(name)
      return resolved
    }
  })
  await import("./src/main.ts")
  console.log(JSON.stringify([...packages]))
  process.exit(0)`

it("a start does not load what few requests need", { timeout: 120_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: root,
    env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), "svc-compile-cache") }
  })
  const packages = JSON.parse(stdout) as ReadonlyArray<string>
  assert.includeMembers([...packages], ["effect", "pg"])
  for (const late of [
    "oidc-provider",
    "openid-client",
    "koa",
    "nodemailer",
    "@simplewebauthn/server",
    "@node-rs/argon2",
    "libpg-query",
    "@modelcontextprotocol/server",
    "zod",
    "@electric-sql/pglite-tools",
    "@supabase/pg-delta"
  ]) {
    assert.notInclude(
      packages,
      late,
      `${late}: import types of it with \`import type\`, and the rest when first needed`
    )
  }
})
