import german from "./de.json" with { type: "json" }
import english from "./en.json" with { type: "json" }

/** The languages of pages and e-mails, as `lang` and `ui_locales` write them. A further one is added with a file like `de.json`. */
export const languages = ["en", "de"] as const
export type Language = (typeof languages)[number]

/** All texts of a language. Other languages have the type of English, so they are complete. */
export type Words = typeof english

/** A mail that has a code. */
export type MailText = keyof Omit<Words["mails"], "link" | "code">

/** German says "Sie". The soft hyphens allow narrow screens to break its longest words. */
const words: Readonly<Record<Language, Words>> = { en: english, de: german }

/**
 * All texts that people read on pages and in e-mails, in a language. Those in `faults`, `failures`, `providerFailures` and
 * `oauth2Errors` have the code of an error as their name; `withValues` replaces `{name}` and the like.
 */
export const wordsOf = (language: Language): Words => words[language]

const languageOf = (tag: string): Language | undefined =>
  languages.find((language) => language === tag.trim().split("-")[0]?.toLowerCase())

/** The first language of ours in `ui_locales` of OpenID Connect: tags in order of preference, separated by spaces. */
export const languageOfLocales = (locales: string): Language | undefined => {
  for (const tag of locales.slice(0, 200).split(" ")) {
    const language = languageOf(tag)
    if (language !== undefined) return language
  }
  return undefined
}

/** The language of ours that a browser prefers (RFC 9110 12.5.4), else English. */
export const acceptedLanguage = (header: string | undefined): Language => {
  const given = (header ?? "")
    .slice(0, 500)
    .split(",")
    .flatMap((part, index) => {
      const [tag = "", ...parameters] = part.split(";")
      const language = languageOf(tag)
      const quality = parameters
        .map((one) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(one)?.[1])
        .find((q) => q !== undefined)
      return language === undefined ? [] : [{ language, quality: Number(quality ?? 1), index }]
    })
  const [best] = given
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality || a.index - b.index)
  return best?.language ?? "en"
}

/** A text with its `{names}` replaced. */
export const withValues = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? whole) : whole
  )
