/** What a release is made of beside our own code: for its licences and its bill of materials. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { root, readJson } from "./files.ts"

export interface Part {
  readonly name: string
  readonly version: string
  /** As its manifest says: an SPDX expression, or other words. */
  readonly license: string
  /** The licence's text, with notices. */
  readonly text: string
  /** Package URL (https://github.com/package-url/purl-spec). */
  readonly purl: string
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string | { readonly type: string }
  readonly author?: string | { readonly name: string }
}

const mit = (holder: string) => `MIT License

Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

const bsd3 = (holder: string) => `BSD 3-Clause License

Copyright (c) ${holder}

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`

/** The text for a package that has none, of which the licences must then be known here. */
const knownText = async (license: string, { author, name, version }: Manifest) => {
  const holder = typeof author === "string" ? author : (author?.name ?? `the authors of ${name}`)
  const texts = license
    .replaceAll(/[()]/g, "")
    .split(" AND ")
    .map((id) => {
      if (id === "Apache-2.0") return readFile(join(root, "LICENSE"), "utf8")
      if (id === "MIT") return mit(holder)
      if (id === "BSD-3-Clause") return bsd3(holder)
      throw new Error(`${name} ${version} has no licence text (${license})`)
    })
  return (await Promise.all(texts)).map((text) => text.trim()).join("\n\n")
}

/** A package in a folder of node_modules. */
export const partOf = async (folder: string): Promise<Part> => {
  const manifest = await readJson<Manifest>(folder, "package.json")
  const { name, version } = manifest
  const license = typeof manifest.license === "object" ? manifest.license.type : (manifest.license ?? "UNKNOWN")
  const files = (await readdir(folder)).filter((one) => /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i.test(one))
  const texts = await Promise.all(files.toSorted().map((one) => readFile(join(folder, one), "utf8")))
  const text = texts.length > 0 ? texts.map((one) => one.trim()).join("\n\n") : await knownText(license, manifest)
  return { name, version, license, text, purl: `pkg:npm/${name.replace("@", "%40")}@${version}` }
}

/** What `npm run build` has written to dist, and of which packages. */
export interface Built {
  readonly files: ReadonlyArray<string>
  /** Their folders. */
  readonly packages: ReadonlyArray<string>
}

export const bundledParts = ({ packages }: Built): Promise<ReadonlyArray<Part>> =>
  Promise.all(packages.map((folder) => partOf(join(root, folder))))

const separator = `\n\n${"-".repeat(72)}\n\n`

/** The packages and fonts of the dashboard, from the list that its own build writes. */
export const dashboardParts = async (): Promise<ReadonlyArray<Part>> => {
  const files = ["dashboard/dist/licenses.txt", "dashboard/dist/example/licenses.txt"]
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), "utf8")))
  const listed = texts.flatMap((text) => text.trim().split(separator))
  return listed.map((text) => {
    const [heading = "", ...rest] = text.split("\n")
    const [, name = heading, version = "", license = "UNKNOWN"] = /^(\S.*?)(?: (\d\S*))? \((.+)\)$/.exec(heading) ?? []
    const purl = version === "" ? "" : `pkg:npm/${name.replace("@", "%40")}@${version}`
    return { name, version, license, text: rest.join("\n").trim(), purl }
  })
}

/** One text of all licences, each once for the parts that share it. */
export const licensesText = (parts: ReadonlyArray<Part>): string => {
  const byText = Map.groupBy(parts, ({ text }) => text)
  return Array.from(byText, ([text, sharing]) => {
    const names = sharing.map(({ license, name, version }) => `${[name, version].join(" ").trim()} (${license})`)
    return `${[...new Set(names)].toSorted().join("\n")}\n\n${text}`
  })
    .toSorted()
    .join(separator)
    .concat("\n")
}
