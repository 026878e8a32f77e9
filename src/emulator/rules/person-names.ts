import type { Random } from '../random.ts';

/** The two halves of a name as the service stores them. */
export interface Halves {
  readonly first: string;
  readonly last: string;
}

const firstNames =
  'Anna Bruno Chiara David Elena Farid Grace Hugo Ines Jonas Karim Lena Marco Nadia Oskar Priya Quentin Rosa Samuel Tessa Umar Vera Wanda Xavier Yara Zeno Aisha Björn Clémence Diego Eszter Fiona Goran Hanna Igor Jelena Kwame Luca Maja Noé Olivia Pedro Renate Søren Tomasz Ursula Viktor Małgorzata Ngozi Łukasz'.split(
    ' ',
  );

const lastNames =
  'Berg Conti Dubois Eriksen Fischer Garcia Hansen Ivanova Jansen Keller Lopez Müller Novak Okafor Patel Quinn Rossi Schmid Tanaka Urban Vogel Weber Young Zimmermann Ahmed Brunner Costa Demir Egger Ferrari Gruber Haas Inglis Johansson Kovács Lindqvist Moreau Nguyen Osei Petrov Romero Suter Thaler Ulrich Vargas Wyss Yilmaz Østergaard Çelik Šimić'.split(
    ' ',
  );

/** Names that programs tend to get wrong. People really have such names, or really enter them. */
export const oddNames: readonly Halves[] = [
  { first: 'Madhuri', last: '' },
  { first: '', last: 'Suharto' },
  { first: 'Anne Marie', last: 'Berg' },
  { first: 'Anne', last: 'Marie Berg' },
  { first: 'María del Carmen', last: 'López y Rodríguez' },
  { first: 'Jean-Luc', last: 'de la Croix' },
  { first: 'Ludwig', last: 'van der Rohe III.' },
  { first: 'Zoë'.normalize('NFD'), last: 'Lefèvre'.normalize('NFD') },
  { first: 'Zoë', last: 'Lefèvre' },
  { first: 'John  Paul', last: 'Jones' },
  { first: 'Kim ', last: ' Lee' },
  { first: 'Siobhán', last: "O'Brien" },
  { first: 'Siobhán', last: 'O’Brien' },
  { first: 'Владимир', last: 'Соколов' },
  { first: '小明', last: '王' },
  { first: 'さくら', last: '田中' },
  { first: '민준', last: '김' },
  { first: 'राहुल', last: 'शर्मा' },
  { first: 'Ελένη', last: 'Παπαδοπούλου' },
  { first: 'يوسف', last: 'الحداد' },
  { first: 'נועה', last: 'כהן' },
  { first: 'Sam 🚀', last: 'Porter' },
  { first: '👩‍👩‍👧', last: 'Family Desk' },
  { first: 'İpek', last: 'Iğdır' },
  { first: 'Weiß', last: 'Groß' },
  { first: 'Christopher', last: 'Null' },
  { first: 'Robert"; DROP TABLE users;--', last: 'Tables' },
  { first: '=1+1', last: '@home' },
  { first: 'Thanh Hằng', last: 'Nguyễn Thị' },
  { first: 'Front Desk', last: '(evenings)' },
];

/** Chooses a name. Every seventh user gets the next of the odd names, so that small teams have many of them. */
export function nameOf(random: Random, at: number): Halves {
  if (at % 7 !== 3) return { first: random.pick(firstNames), last: random.pick(lastNames) };
  return oddNames[Math.floor(at / 7) % oddNames.length] ?? { first: 'Odd', last: 'Name' };
}
