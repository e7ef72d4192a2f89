/** A section of the documentation: a heading and the text up to the next one. */
export interface DocSection {
  /** The file's name, such as `rows.md`. */
  readonly file: string
  readonly heading: string
  readonly text: string
}

interface Indexed extends DocSection {
  readonly lowerHeading: string
  readonly lowerText: string
}

const heading = /^#{1,4} (.+)$/

/** The sections of a file. `#` in a fenced block of code is no heading. */
export const sectionsOf = (file: string, source: string): ReadonlyArray<DocSection> => {
  const sections: Array<{ file: string; heading: string; lines: Array<string> }> = []
  let fenced = false
  for (const line of source.split("\n")) {
    if (line.startsWith("```")) fenced = !fenced
    const title = fenced ? undefined : heading.exec(line)?.[1]
    if (title !== undefined || sections.length === 0) sections.push({ file, heading: title ?? file, lines: [] })
    if (title === undefined) sections.at(-1)?.lines.push(line)
  }
  return sections.map(({ file, heading, lines }) => ({ file, heading, text: lines.join("\n").trim() }))
}

/** Words of a query that count, and occurrences of one in a text. */
const [maxWords, maxOccurrences] = [10, 5]
/** Sections in an answer, and characters of each. */
const [maxSections, maxText] = [5, 3000]

const occurrences = (text: string, word: string) => {
  let count = 0
  for (let at = text.indexOf(word); at >= 0 && count < maxOccurrences; at = text.indexOf(word, at + word.length))
    count++
  return count
}

/** Searches sections for words. A section with more of the words comes first, then one with them in its heading. */
export const makeDocSearch = (sections: ReadonlyArray<DocSection>) => {
  const indexed = sections.map((section): Indexed => ({
    ...section,
    lowerHeading: `${section.file} ${section.heading}`.toLowerCase(),
    lowerText: section.text.toLowerCase()
  }))
  return (query: string): ReadonlyArray<DocSection> => {
    const words = [...new Set(query.toLowerCase().split(/[^\p{L}\p{N}_]+/u))].filter((word) => word.length > 1)
    const scoreOf = ({ lowerHeading, lowerText }: Indexed) => {
      let score = 0
      for (const word of words.slice(0, maxWords)) {
        const inHeading = lowerHeading.includes(word) ? 20 : 0
        const inText = occurrences(lowerText, word)
        if (inHeading + inText > 0) score += 100 + inHeading + inText
      }
      return score
    }
    return indexed
      .map((section) => ({ section, score: scoreOf(section) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, maxSections)
      .map(({ section: { file, heading, text } }) => ({
        file,
        heading,
        text: text.length > maxText ? `${text.slice(0, maxText)} …` : text
      }))
  }
}
