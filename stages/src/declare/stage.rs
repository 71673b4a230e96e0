//! `stage!`: the declaration of a stage.
//!
//! It expands to the struct, the numbers of counters and reasons, and the three control-path traits; everything
//! that need not be a macro is in `support`. It does not write the `impl Stage`.

/// Declares a stage; `impl Stage` for it says what it does to packets.
///
/// ```
/// use corelane_runtime::packet::Burst;
/// use corelane_runtime::stage::{ConfigError, Outputs, Stage, StageContext};
/// use corelane_stages::declare::Output;
/// use corelane_stages::stage;
///
/// stage! {
///     /// Sends packets that are long elsewhere.
///     pub struct Sieve {
///         /// bytes a packet may have
///         size: u32 = 1514,
///         /// where longer ones go
///         long: Output,
///     }
///     subject { long }
///     counters { PASSED }
/// }
///
/// impl Sieve {
///     fn check(&self) -> Result<(), ConfigError> {
///         let possible = self.size >= 60;
///         possible.then_some(()).ok_or(ConfigError::at("size", "no frame is shorter than 60 bytes"))
///     }
/// }
///
/// impl Stage for Sieve {
///     fn process(&mut self, burst: &mut Burst, out: &mut Outputs, ctx: &mut StageContext) {
///         for packet in burst.drain() {
///             match packet.len() <= self.size {
///                 true => {
///                     ctx.count(Self::PASSED, 1);
///                     out.next(packet);
///                 }
///                 false => out.send(self.long, packet),
///             }
///         }
///     }
/// }
/// ```
///
/// **Keys.** `name: Type`, and `= default` as it would be written in a description; a key without a default must
/// be given. A [`Key`](crate::declare::Key) can be a number, `bool`, `String`, [`Output`](crate::declare::Output), [`Hex`](crate::declare::Hex),
/// `Nanoseconds`, `Bytes`, `OneIn`, `Mac`, an IP address, a range, a list, an `Option` (with `= None`), or a
/// [`choice!`](crate::choice). The doc lines are what `corelane stages` prints.
///
/// **Clauses**, in any order after the struct:
///
/// - `subject { key }`: the key that `Name(value)` sets.
/// - `counters { BYTES }`: `Self::BYTES` for [`StageContext::count`](corelane_runtime::stage::StageContext::count),
///   `bytes` in reports. `counters { ..NAMES }` takes a list of names instead.
/// - `drops { REPLAY }`: `Self::REPLAY` for [`StageContext::drop`](corelane_runtime::stage::StageContext::drop).
/// - `state { seen: u64 = 0 }`: fields that are no keys, fresh in every copy and after every restart.
/// - `given { key: u64 = |ctx| ctx.hash_key() }`: fields that the place of the stage in the plan decides, each from
///   the [`BuildContext`](corelane_runtime::stage::BuildContext).
/// - `traits { edits_payload, holds: 64 }`: what the plan must know, the fields of
///   [`Traits`](corelane_runtime::stage::spec::Traits).
/// - `role { Sink }`: the stage ends its chain; `Output`s it has are all there are.
///
/// **Hooks**, methods of the struct that may be there: `check(&self) -> Result<(), ConfigError>` for what types
/// cannot say; `traits(&self, &mut Traits)` for traits that depend on keys; `needs(&self) -> Vec<Need>` for work
/// that a port could take over.
#[macro_export]
macro_rules! stage {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident { $($keys:tt)* }
        $($clauses:tt)*
    ) => {
        $crate::stage! {
            @clauses ([$($doc)*] $vis $name { $($keys)* })
            [] [] [] [] [] [] [] ; $($clauses)*
        }
    };

    // Clauses in any order, each into its own bracket.
    (@clauses $s:tt [] $r:tt $t:tt $c:tt $d:tt $st:tt $g:tt ; subject { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s [$($x)*] $r $t $c $d $st $g ; $($more)* }
    };
    (@clauses $s:tt $j:tt [] $t:tt $c:tt $d:tt $st:tt $g:tt ; role { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s $j [$($x)*] $t $c $d $st $g ; $($more)* }
    };
    (@clauses $s:tt $j:tt $r:tt [] $c:tt $d:tt $st:tt $g:tt ; traits { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s $j $r [$($x)*] $c $d $st $g ; $($more)* }
    };
    (@clauses $s:tt $j:tt $r:tt $t:tt [] $d:tt $st:tt $g:tt ; counters { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s $j $r $t [$($x)*] $d $st $g ; $($more)* }
    };
    (@clauses $s:tt $j:tt $r:tt $t:tt $c:tt [] $st:tt $g:tt ; drops { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s $j $r $t $c [$($x)*] $st $g ; $($more)* }
    };
    (@clauses $s:tt $j:tt $r:tt $t:tt $c:tt $d:tt [] $g:tt ; state { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s $j $r $t $c $d [$($x)*] $g ; $($more)* }
    };
    (@clauses $s:tt $j:tt $r:tt $t:tt $c:tt $d:tt $st:tt [] ; given { $($x:tt)* } $($more:tt)*) => {
        $crate::stage! { @clauses $s $j $r $t $c $d $st [$($x)*] ; $($more)* }
    };
    (@clauses $s:tt $j:tt $r:tt $t:tt $c:tt $d:tt $st:tt $g:tt ; $other:tt $($more:tt)*) => {
        compile_error!(concat!(
            "`", stringify!($other), "` is no clause of a stage, or stands there twice; the clauses are ",
            "subject, role, traits, counters, drops, state and given, each followed by { .. }"
        ));
    };

    // All clauses are known.
    (@clauses
        ([$($doc:literal)*] $vis:vis $name:ident {
            $( $(#[doc = $key_doc:literal])* $key_vis:vis $key:ident : $ty:ty $(= $default:expr)? ),* $(,)?
        })
        [$($subject:ident)?]
        [$($role:ident)?]
        [$( $trait:ident $(: $trait_value:expr)? ),* $(,)?]
        $counters:tt
        $drops:tt
        [$( $(#[doc = $state_doc:literal])* $state_vis:vis $state:ident : $state_ty:ty = $state_value:expr ),* $(,)?]
        [$( $(#[doc = $given_doc:literal])* $given:ident : $given_ty:ty = $given_value:expr ),* $(,)?]
    ;) => {
        $(#[doc = $doc])*
        $vis struct $name {
            $( $(#[doc = $key_doc])* $key_vis $key: $ty, )*
            $( $(#[doc = $state_doc])* $state_vis $state: $state_ty, )*
            $( $(#[doc = $given_doc])* $given: $given_ty, )*
        }

        $crate::stage! { @numbers $name CounterId "The counter" $counters }
        $crate::stage! { @numbers $name Reason "The drop reason" $drops }

        // A stage without keys needs less of this.
        #[allow(unreachable_pub, unused_imports, unused_mut, unused_variables)]
        const _: () = {
            use $crate::declare::support::{self as __support, Hooks as _, Key as __Key};
            use $crate::declare::support::serde::de as __de;

            const __KEYS: &[&str] = &[$( stringify!($key) ),*];
            const __ROLE: __support::Role = $crate::stage!(@role $($role)?);

            #[derive(Clone)]
            struct __Config {
                $( $key: $ty, )*
                __outputs: __support::OutputNames,
            }

            struct __Written {
                $( $key: ::std::option::Option<<$ty as __Key>::Written>, )*
            }

            impl<'de> __de::Deserialize<'de> for __Written {
                fn deserialize<D: __de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    struct Keys;
                    impl<'de> __de::Visitor<'de> for Keys {
                        type Value = __Written;

                        fn expecting(
                            &self,
                            f: &mut ::std::fmt::Formatter<'_>,
                        ) -> ::std::fmt::Result {
                            f.write_str("arguments")
                        }

                        fn visit_map<A: __de::MapAccess<'de>>(
                            self,
                            mut map: A,
                        ) -> Result<__Written, A::Error> {
                            let mut written = __Written { $( $key: None, )* };
                            while let Some(__support::Name(name)) = map.next_key()? {
                                match name.as_str() {
                                    $( stringify!($key) => __support::read(
                                        &mut map, stringify!($key), &mut written.$key)?, )*
                                    other => return Err(__de::Error::unknown_field(other, __KEYS)),
                                }
                            }
                            Ok(written)
                        }
                    }
                    from.deserialize_struct("", __KEYS, Keys)
                }
            }

            impl __Config {
                /// A stage in the place that `ctx` is.
                fn maker(
                    &self,
                    ctx: &mut dyn __support::BuildContext,
                ) -> impl Fn() -> $name + Send + 'static {
                    let config = self.clone();
                    $( let $given: $given_ty = __support::given(ctx, $given_value); )*
                    move || $name {
                        $( $key: config.$key.clone(), )*
                        $( $state: $state_value, )*
                        $( $given: $given.clone(), )*
                    }
                }

                /// A stage nowhere, to be asked about its configuration.
                fn unplaced(&self) -> $name {
                    self.maker(&mut __support::Nowhere)()
                }
            }

            struct __Kind;

            impl __support::StageSpec for __Kind {
                fn info(&self) -> &'static __support::StageInfo {
                    static INFO: ::std::sync::OnceLock<__support::StageInfo> =
                        ::std::sync::OnceLock::new();
                    INFO.get_or_init(|| __support::info(__support::Outline {
                        name: stringify!($name),
                        doc: &[$($doc),*],
                        role: __ROLE,
                        subject: [$( stringify!($subject) )?].first().copied(),
                        keys: vec![$( __support::key::<$ty>(
                            stringify!($key),
                            &[$($key_doc),*],
                            [$( stringify!($default) )?].first().copied(),
                        ) ),*],
                        drops: $crate::stage!(@names $drops),
                        counters: $crate::stage!(@names $counters),
                    }))
                }

                fn doc(&self) -> &'static str {
                    static DOC: ::std::sync::OnceLock<String> = ::std::sync::OnceLock::new();
                    DOC.get_or_init(|| __support::paragraphs_after_the_first(&[$($doc),*]))
                }

                fn choices(&self) -> &'static [__support::Choice] {
                    static CHOICES: ::std::sync::OnceLock<Vec<__support::Choice>> =
                        ::std::sync::OnceLock::new();
                    CHOICES.get_or_init(|| {
                        let mut choices = Vec::new();
                        $( choices.extend(__support::choices::<$ty>(stringify!($key))); )*
                        choices
                    })
                }

                fn example(&self) -> &'static str {
                    static EXAMPLE: ::std::sync::OnceLock<String> = ::std::sync::OnceLock::new();
                    EXAMPLE.get_or_init(|| __support::example(
                        self.info(),
                        &[$( (stringify!($key), <$ty as __Key>::example(stringify!($key))) ),*],
                    ))
                }

                fn configure(
                    &self,
                    args: __support::Args<'_>,
                ) -> Result<Box<dyn __support::StageConfig>, Vec<__support::ConfigError>> {
                    let written: __Written = __support::parse(args, self.info())?;
                    let mut outputs = __support::outputs(__ROLE);
                    $( let $key = __support::value::<$ty>(
                        written.$key,
                        (stringify!($name), stringify!($key)),
                        [$( stringify!($default) )?].first().copied(),
                        &mut outputs,
                    )?; )*
                    let config = __Config { $( $key, )* __outputs: outputs };
                    config.unplaced().check().map_err(|error| vec![error])?;
                    Ok(Box::new(config))
                }
            }

            impl __support::StageConfig for __Config {
                fn traits(&self) -> __support::Traits {
                    let mut traits = __support::traits(&self.__outputs);
                    $( traits.$trait = $crate::stage!(@trait $($trait_value)?); )*
                    self.unplaced().traits(&mut traits);
                    traits
                }

                fn needs(&self) -> Vec<__support::Need> {
                    self.unplaced().needs()
                }

                fn build(
                    &self,
                    ctx: &mut dyn __support::BuildContext,
                ) -> Result<__support::Built, __support::Error> {
                    let edits = __support::StageConfig::traits(self).edits_payload;
                    Ok(__support::built(self.maker(ctx), edits))
                }
            }

            impl __support::Declared for $name {
                fn spec() -> Box<dyn __support::StageSpec> {
                    $( $( __support::expect_default::<$ty>(
                        stringify!($name), stringify!($key), stringify!($default)); )? )*
                    Box::new(__Kind)
                }
            }
        };
    };

    (@role) => { __support::Role::Middle };
    (@role $role:ident) => { __support::Role::$role };

    (@trait) => { true };
    (@trait $value:expr) => { $value };

    (@names [.. $names:expr]) => { $names.to_vec() };
    (@names [$( $(#[doc = $doc:literal])* $number:ident ),* $(,)?]) => {
        __support::lower_case(&[$( stringify!($number) ),*])
    };

    (@numbers $name:ident $kind:ident $what:literal []) => {};
    (@numbers $name:ident $kind:ident $what:literal [.. $names:expr]) => {};
    (@numbers $name:ident $kind:ident $what:literal
        [$( $(#[doc = $doc:literal])* $number:ident ),* $(,)?]
    ) => {
        const _: () = {
            // Its variants are spelt as the constants that they number.
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum __Number { $( $number ),* }

            // As public as the stage, which may be private.
            #[allow(unreachable_pub)]
            impl $name {
                $(
                    #[doc = concat!($what, " `", stringify!($number), "`.")]
                    $(#[doc = $doc])*
                    pub const $number: $crate::declare::support::$kind =
                        $crate::declare::support::$kind(__Number::$number as usize);
                )*
            }
        };
    };
}
