import { English } from "./English.ts"
import { German } from "./German.ts"
import { type Language, type Words } from "./Language.ts"

const words: Readonly<Record<Language, Words>> = { en: English, de: German }

/** All texts, in a language. */
export const wordsOf = (language: Language): Words => words[language]
