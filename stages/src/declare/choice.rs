//! `choice!`: a value that is one of several words.
//!
//! A word may bring a value along, an output above all. The words, their meanings and how they are read come
//! from one declaration.

/// Declares an enum that a key of a stage can have as its type.
///
/// ```
/// use corelane_stages::{choice, declare::Output};
///
/// choice! {
///     /// What happens to a packet that is wrong.
///     #[derive(Copy)]
///     pub enum OnBad {
///         /// passed on, and marked
///         Mark,
///         /// ends here
///         Drop,
///         /// goes to another chain
///         Output(Output),
///     }
/// }
/// ```
///
/// In a description these are `Mark`, `Drop` and `Output("chain")`. `Clone`, `Debug`, `PartialEq` and `Eq` are
/// derived; others are written as above.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $doc:literal])* $word:ident $( ($value:ty) )? ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis enum $name {
            $( $(#[doc = $doc])* $word $( ($value) )? ),+
        }

        // A choice of bare words needs less of this.
        #[allow(unreachable_pub, unused_variables)]
        const _: () = {
            use $crate::declare::support::{self as __support, Key as __Key};
            use $crate::declare::support::serde::de as __de;

            #[doc(hidden)]
            pub enum __Written {
                $( $word $( (<$value as __Key>::Written) )? ),+
            }

            const __WORDS: &[&str] = &[$( stringify!($word) ),+];

            impl<'de> __de::Deserialize<'de> for __Written {
                fn deserialize<D: __de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    struct Word;
                    impl<'de> __de::Visitor<'de> for Word {
                        type Value = __Written;

                        fn expecting(
                            &self,
                            f: &mut ::std::fmt::Formatter<'_>,
                        ) -> ::std::fmt::Result {
                            __support::expecting_words(f, __WORDS)
                        }

                        fn visit_enum<A: __de::EnumAccess<'de>>(
                            self,
                            data: A,
                        ) -> Result<__Written, A::Error> {
                            let (__support::Name(word), rest) = data.variant()?;
                            match word.as_str() {
                                $( stringify!($word) =>
                                    $crate::choice!(@read rest $word $( ($value) )?), )+
                                other => Err(__de::Error::unknown_variant(other, __WORDS)),
                            }
                        }
                    }
                    from.deserialize_enum("", __WORDS, Word)
                }
            }

            impl __Key for $name {
                type Written = __Written;

                fn kind() -> String {
                    let words = [$( $crate::choice!(@kind $word $( ($value) )?) ),+];
                    words.join(" | ")
                }

                fn example(key: &str) -> String {
                    let words = [$( $crate::choice!(@example key $word $( ($value) )?) ),+];
                    words[0].clone()
                }

                fn from_written(
                    written: __Written,
                    outputs: &mut __support::OutputNames,
                ) -> $name {
                    match written {
                        $( __Written::$word $( ($crate::choice!(@bind inner $value)) )? =>
                            $name::$word
                                $( (<$value as __Key>::from_written(inner, outputs)) )?, )+
                    }
                }

                fn choices() -> Vec<(&'static str, String)> {
                    vec![$( (stringify!($word), __support::paragraph(&[$($doc),*])) ),+]
                }
            }
        };
    };

    (@read $rest:ident $word:ident) => {
        __de::VariantAccess::unit_variant($rest).map(|()| __Written::$word)
    };
    (@read $rest:ident $word:ident ($value:ty)) => {
        __de::VariantAccess::newtype_variant($rest).map(__Written::$word)
    };
    (@kind $word:ident) => { stringify!($word).to_owned() };
    (@kind $word:ident ($value:ty)) => {
        format!("{}({})", stringify!($word), <$value as __Key>::example(&<$value as __Key>::kind()))
    };
    (@example $key:ident $word:ident) => { stringify!($word).to_owned() };
    (@example $key:ident $word:ident ($value:ty)) => {
        format!("{}({})", stringify!($word), <$value as __Key>::example($key))
    };
    (@bind $inner:ident $value:ty) => { $inner };
}
