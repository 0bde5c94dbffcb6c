import { invalid } from '../../platform/ground/errors.ts'

/** Passwords that are long enough and still among the first that anyone guesses. All in lower case. */
const commonPasswords: ReadonlySet<string> = new Set([
  ...`
    !qaz2wsx3edc !qaz@wsx#edc 0123456789 0147258369 0987654321 1029384756 1111122222 1122334455 112233445566
    11223344556677 1212121212 1231231231 123123123123 123321123321 1233211234567 1234512345 1234554321 1234566789
    1234567890 12345678900 1234567890a 1234567890q 1234567890qwertyuiop 1234567891 12345678910 123456789123
    123456789a 123456789q 1234567qwe 12345qwert 1234qwerasdf 123qwe123qwe 123qweasdzxc 1357924680 13579246810
    1472583690 159753159753 1a2b3c4d5e 1q2w3e4r5t 1q2w3e4r5t6y 1qaz1qaz1qaz 1qaz2wsx1qaz 1qaz2wsx3edc 1qaz@wsx3edc
    1qazxsw23edc 2468013579 5201314520 5201314520520 7418529630 7894561230 9638527410 9876543210 a123456789
    a1234567890 a1b2c3d4e5 a1b2c3d4e5f6 aa123456789 aaaaaaaaa1 abc1234567 abc12345678 abc123456789 abc123abc123
    abcabcabc1 abcd123456 abcd12345678 abcd1234abcd abcdefghij abcdefghijk abcdefghijklmnop
    abcdefghijklmnopqrstuvwxyz admin12345 admin123456 admin1234567 adminadmin adminadmin123 administrator
    administrator1 administrator123 alexander1 alexander123 andrew1234 anthony123 arsenal123 asd123456789 asdasdasd1
    asdasdasd123 asdf1234asdf asdfasdfasdf asdfghjkl1 asdfghjkl123 asdfghjklz ashley1234 autumn2024! autumn2025!
    autumn2026! babygirl12 babygirl123 barcelona1 barcelona123 baseball123 baseball1234 basketball basketball1
    basketball23 business123 butterfly1 butterfly123 changeit123 changeme123 changeme1234 changeme12345 changemenow
    charlie123 chelsea123 chocolate1 chocolate123 christopher cinderella company123 company1234 computer123
    computer1234 correcthorsebatterystaple daniel1234 default123 default1234 dragon1234 dragonball dragonball1
    dragonballz elizabeth1 elizabeth123 facebook123 football10 football123 football1234 forever123 forever1234
    google1234 guest12345 guestguest hello12345 hellohello hellokitty hellokitty1 helloworld helloworld1
    helloworld123 ilovemyself iloveyou12 iloveyou123 iloveyou1234 iloveyou143 iloveyou22 iloveyouall iloveyousomuch
    internet123 jennifer123 jessica123 jordan1234 joshua1234 juventus123 letmein123 letmein1234 letmein12345
    letmeinnow liverpool1 liverpool123 lovelove123 loveyou123 manchester manchester1 manchesterunited master1234
    matthew123 michael123 michelle123 microsoft1 microsoft123 minecraft1 minecraft123 monkey1234 mustang123
    mypassword mypassword1 mypassword123 newpassword newpassword1 newpassword123 nicole1234 nopassword123
    p4ssw0rd123 p4ssword123 p@$$w0rd123 p@55w0rd123 p@ssw0rd!! p@ssw0rd123 p@ssw0rd1234 p@ssword!! p@ssword123
    p@ssword1234 pa$$word123 pa55word123 passw0rd!! passw0rd123 passw0rd1234 password!1 password!123 password01
    password1! password10 password11 password12 password12! password123 password123! password123!! password1234
    password12345 password123456 password2020 password2021 password2022 password2023 password2024 password2025
    password2026 password99 passwordpassword playstation playstation1 pokemon123 princess123 princess1234 q123456789
    q1w2e3r4t5 q1w2e3r4t5y6 qazwsxedc1 qazwsxedc123 qazwsxedcrfv qq123456789 qwe1234567 qwe123456789 qweasdzxc1
    qweasdzxc123 qweqweqwe1 qweqweqwe123 qwerty1234 qwerty12345 qwerty123456 qwerty1234567 qwerty123456789
    qwerty2020 qwerty2021 qwerty2022 qwerty2023 qwerty2024 qwerty2025 qwertyqwerty qwertyuiop qwertyuiop1
    qwertyuiop123 qwertyuiopasdfghjkl qwertyuiopasdfghjklzxcvbnm realmadrid realmadrid1 rootroot123 samsung123
    samsung1234 secret1234 secret12345 secretpassword shadow1234 snowflake1 spongebob1 spongebob123 spring2024!
    spring2025! spring2026! starwars123 strawberry strawberry1 summer2020! summer2021! summer2022! summer2023!
    summer2024! summer2025! summer2026! sunshine123 sunshine1234 superadmin superman123 supersecret superuser123
    supervisor temp123456 temporary1 temporary123 test123456 test1234567 testing123 testing1234 testpassword
    testtest123 testtesttest thepassword thisisapassword thisismypassword tidings123 tidings1234 tidings2025
    tidings2026 tidingstidings trustno1234 w123456789 welcome123 welcome123! welcome1234 welcome1234! welcome12345
    welcome2020 welcome2021 welcome2022 welcome2023 welcome2024 welcome2025 welcome2026 whatever123 whatever1234
    winter2020! winter2021! winter2022! winter2023! winter2024! winter2025! winter2026! woaini1314 woaini1314520
    yourpassword z123456789 zaq12wsxcde3 zaq1xsw2cde3 zxc123456789 zxcvbnm123 zxcvbnm1234 zxcvbnmasd zxcvbnmzxcvbnm
    zxczxczxc1 zxczxczxc123
  `
    .trim()
    .split(/\s+/),
  'correct horse battery staple',
])

export const minPasswordLength = 10
export const maxPasswordLength = 128

/** Throws a field error when the password is easy to guess. Its length is checked by the schema. */
export const checkPassword = (password: string, email: string, field: string): void => {
  const plain = password.toLowerCase()
  if (plain === email) throw invalid([field], 'same_as_email', 'Choose a password that is not your email address.')
  if (commonPasswords.has(plain) || new Set(plain).size === 1) {
    throw invalid([field], 'common_password', 'This password is on a list of common passwords. Choose another one.')
  }
}
