/** The bill of materials of a release: CycloneDX 1.6 in JSON. */
import * as CycloneDX from "@cyclonedx/cyclonedx-library"
import { type Part } from "./contents.ts"

const { Enums, Models, Serialize, Spec, Validation } = CycloneDX

const componentOf = ({ license, name, purl, version }: Part) => {
  const component = new Models.Component(Enums.ComponentType.Library, name, {
    bomRef: purl === "" ? name : purl,
    ...(version !== "" && { version }),
    ...(purl !== "" && { purl })
  })
  component.licenses.add(
    /^[\w.+() -]+$/.test(license) && !/^SEE /i.test(license)
      ? new Models.LicenseExpression(license)
      : new Models.NamedLicense(license)
  )
  return component
}

/** Throws if the result does not follow the schema of CycloneDX. */
export const billOfMaterials = async (
  about: { readonly name: string; readonly version: string; readonly time: Date },
  parts: ReadonlyArray<Part>
): Promise<string> => {
  const bom = new Models.Bom()
  bom.metadata.timestamp = about.time
  const product = new Models.Component(Enums.ComponentType.Application, about.name, {
    version: about.version,
    bomRef: `pkg:npm/${about.name}@${about.version}`,
    purl: `pkg:npm/${about.name}@${about.version}`
  })
  product.licenses.add(new Models.LicenseExpression("Apache-2.0"))
  bom.metadata.component = product
  const unique = new Map(parts.map((part) => [part.purl === "" ? part.name : part.purl, part]))
  for (const part of unique.values()) {
    const component = componentOf(part)
    bom.components.add(component)
    product.dependencies.add(component.bomRef)
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  const text = `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`
  const faults = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)
  if (faults !== null) throw new Error(`The bill of materials is invalid: ${JSON.stringify(faults).slice(0, 1000)}`)
  return text
}
